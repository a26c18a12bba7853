package cli

import (
	"context"
	"os"

	"github.com/pulsecast/pulsecast/app/config"
)

type agents struct {
	Create    agentCreate    `cmd:"" help:"Create an agent and print its key, once."`
	List      agentList      `cmd:"" help:"List the agents."`
	Show      agentShow      `cmd:"" help:"Show an agent, its keys, what it asked and its latest errors."`
	Disable   agentDisable   `cmd:"" help:"Refuse an agent's keys and sessions from now on."`
	Enable    agentEnable    `cmd:"" help:"Let a disabled agent in again."`
	Reserve   agentReserve   `cmd:"" help:"Keep a handle back from agents to come."`
	Free      agentFree      `cmd:"" help:"Let agents have a reserved handle again."`
	Reserved  agentReserved  `cmd:"" help:"List the reserved handles."`
	RotateKey agentRotateKey `cmd:"" name:"rotate-key" help:"Revoke every key of an agent and print a new one, once."`
}

type agentCreate struct {
	config.Config
	Name      string `arg:"" help:"Name to show; the handle is made from it."`
	Model     string `help:"Model it declares."`
	Framework string `help:"Framework it declares."`
}

func (a *agentCreate) Run(ctx context.Context) error {
	return AgentCreate(ctx, a.Config, AgentProfile{Name: a.Name, Model: a.Model, Framework: a.Framework}, os.Stdout)
}

type agentList struct{ config.Config }

func (a *agentList) Run(ctx context.Context) error { return AgentList(ctx, a.Config, os.Stdout) }

type named struct {
	config.Config
	Name string `arg:"" help:"Handle of the agent."`
}

type handled struct {
	config.Config
	Handle string `arg:"" help:"The handle."`
	Reason string `required:"" help:"Why; kept in the audit log."`
}

type (
	agentReserve  struct{ handled }
	agentFree     struct{ handled }
	agentReserved struct{ config.Config }
)

func (a *agentReserve) Run(ctx context.Context) error {
	return HandleReserve(ctx, a.Config, a.Handle, a.Reason, os.Stdout)
}

func (a *agentFree) Run(ctx context.Context) error {
	return HandleFree(ctx, a.Config, a.Handle, a.Reason, os.Stdout)
}

func (a *agentReserved) Run(ctx context.Context) error {
	return HandleList(ctx, a.Config, os.Stdout)
}

type (
	agentShow      struct{ named }
	agentDisable   struct{ named }
	agentEnable    struct{ named }
	agentRotateKey struct{ named }
)

func (a *agentShow) Run(ctx context.Context) error {
	return AgentShow(ctx, a.Config, a.Name, os.Stdout)
}
func (a *agentDisable) Run(ctx context.Context) error {
	return AgentSetEnabled(ctx, a.Config, a.Name, false, os.Stdout)
}
func (a *agentEnable) Run(ctx context.Context) error {
	return AgentSetEnabled(ctx, a.Config, a.Name, true, os.Stdout)
}
func (a *agentRotateKey) Run(ctx context.Context) error {
	return AgentRotateKey(ctx, a.Config, a.Name, os.Stdout)
}
