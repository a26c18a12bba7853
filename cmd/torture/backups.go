package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pulsecast/pulsecast/app/database"
)

// killBackups kills backups, and nodes during backups. Half of the kills are on each database. After each
// kill it restores the backup file, if there is one.
func killBackups(l *lab) {
	for db := range l.stores() {
		s := l.stage(db, 1, cut)
		if _, err := s.node.command("backup", "--help"); err != nil {
			l.note("Kills during a backup were not tried: this build has no backup command.")
			return
		}
		file := filepath.Join(l.TempDir(), "backup")
		long := s.backUp(db, file)
		for i := range (l.Backups + 1) / 2 {
			s.publishes(10)
			s.killDuring(i, file, time.Duration(l.random.Int64N(int64(long)+1)))
			if s.compare(); l.faulty() {
				return
			}
			s.restore(db, file, nil)
		}
		s.backUp(db, file)
		s.finish()
		if s.node.Stop(); l.faulty() {
			return
		}
	}
}

// backUp writes a backup without disturbing it, and restores it. The backup must hold everything
// that was acknowledged before it began.
func (s *stage) backUp(db store, file string) (took time.Duration) {
	s.publishes(20)
	before := map[*author]int{}
	for _, w := range s.authors {
		before[w] = w.acknowledged()
	}
	began := time.Now()
	if said, err := s.node.command("backup", "--force", file); err != nil {
		s.lab.fault("a backup: %v: %s", err, said)
	}
	took = time.Since(began)
	s.lab.count("undisturbed backups", 1)
	s.restore(db, file, before)
	return took
}

// killDuring begins a backup and kills it, or the node, after the given time.
func (s *stage) killDuring(i int, file string, moment time.Duration) {
	cmd := exec.CommandContext(s.lab.ctx, s.lab.build.binary, "backup", "--force", file)
	cmd.Env, cmd.Dir = s.node.env, s.lab.dir
	s.lab.must(cmd.Start())
	time.Sleep(moment)
	if i%2 == 0 {
		s.lab.must(cmd.Process.Kill())
		_ = cmd.Wait()
		s.lab.count("backups killed", 1)
		return
	}
	s.node.Kill()
	s.lab.count("nodes killed during a backup", 1)
	if err := cmd.Wait(); err != nil {
		s.lab.fault("a backup during which the node was killed: %v", err)
	}
	if err := s.node.start(); err != nil {
		s.lab.fault("the node doesn't start after a kill: %v", err)
	}
}

// restore restores a backup into an empty database. Unless holds is nil, it checks that a node on that
// database has at least the number of predictions that holds gives for each author.
func (s *stage) restore(db store, file string, holds map[*author]int) {
	l := s.lab
	if _, err := os.Stat(file); err != nil {
		return // the first backup was killed
	}
	to := l.another(db)
	env := append(append([]string{}, s.node.env...), "DATABASE_URL="+to)
	cmd := exec.CommandContext(l.ctx, l.build.binary, "restore", file)
	cmd.Env, cmd.Dir = env, l.TempDir()
	if said, err := cmd.CombinedOutput(); err != nil {
		l.fault("restoring a backup: %v: %s", err, said)
		return
	}
	l.count("backups restored", 1)
	if holds == nil {
		return
	}
	n := l.serve(env)
	defer n.Stop()
	for w, count := range holds {
		var stats struct {
			Stats struct{ Predictions struct{ Total int } }
		}
		a := send(l.ctx, request{url: n.base + "/api/stats", key: w.key})
		if err := a.decode(&stats); err != nil || a.status != 200 || stats.Stats.Predictions.Total < count {
			l.fault("%s had %d predictions before the backup, and after restoring it: %s", w.handle, count, a)
		}
		w.listed(l, n.base, count)
	}
}

// listed counts the predictions on the first page of a restored node's list. It reports a fault if there are
// fewer than least, or fewer than a page holds.
func (w *author) listed(l *lab, base string, least int) {
	var list struct{ Predictions []struct{ ID string } }
	a := send(l.ctx, request{url: base + "/api/predictions?limit=100&agent=" + w.handle, key: w.key})
	if err := a.decode(&list); err != nil || len(list.Predictions) < min(least, 100) {
		l.fault("%s had %d predictions before the backup, and after restoring it lists %d: %s", w.handle, least, len(list.Predictions), a)
	}
}

// another returns the address of another empty database of the same kind.
func (l *lab) another(db store) (address string) {
	if db.kind == database.SQLite {
		return "sqlite://" + filepath.Join(l.TempDir(), "restored.db")
	}
	name := fmt.Sprintf("restored_%d", time.Now().UnixNano())
	conn, err := pgx.Connect(l.ctx, db.url)
	l.must(err)
	defer conn.Close(context.Background())
	_, err = conn.Exec(l.ctx, "CREATE DATABASE "+name)
	l.must(err)
	return strings.Replace(db.url, "/postgres?", "/"+name+"?", 1)
}
