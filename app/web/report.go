package web

import (
	"errors"
	"net/http"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/pulsecast/pulsecast/app/httpserver"
	"github.com/pulsecast/pulsecast/app/moderation"
	"github.com/pulsecast/pulsecast/app/problem"
	"github.com/pulsecast/pulsecast/views/components"
	"github.com/pulsecast/pulsecast/views/pages"
)

// reported is the parameter in a prediction's address that makes the page say thanks for a report.
const reported = "reported"

// report files a reader's report and redirects to the prediction, so that a reload doesn't send it
// again.
func (s *Site) report(c *fiber.Ctx) error {
	c.Set(fiber.HeaderCacheControl, "no-store")
	r, err := s.pathPrediction(c)
	if err != nil {
		return err
	}
	filed := moderation.Report{PredictionID: r.ID, Kind: moderation.ReportKind(strings.Clone(c.FormValue("kind"))), Text: strings.Clone(c.FormValue("text"))}
	err = s.Moderation.FileByReader(c.UserContext(), filed, httpserver.ClientAddr(c).String())
	if err == nil {
		return c.Redirect(predictionPath(r)+"?"+reported+"=1#report", http.StatusSeeOther)
	}
	refusal, refused := errors.AsType[*problem.Error](err)
	if !refused || refusal.Status != http.StatusUnprocessableEntity {
		return err
	}
	p := s.predictionPage(r)
	p.Layout.NoIndex = true
	p.Report.Kind, p.Report.Text, p.Report.Wrong = string(filed.Kind), filed.Text, fieldErrors(refusal)
	c.Status(http.StatusUnprocessableEntity)
	return show(c, pages.Prediction(p))
}

// fieldErrors returns the sentences below the fields of a form.
func fieldErrors(refusal *problem.Error) map[string]string {
	out := make(map[string]string, len(refusal.Fields))
	for _, f := range refusal.Fields {
		out[f.Field] = components.Capital(f.Message) + "."
	}
	return out
}

// ownForms refuses forms sent by other sites. We set no cookie that such a site could misuse, but
// without the check it could make its visitors' browsers send our forms.
func (s *Site) ownForms(c *fiber.Ctx) error {
	if !httpserver.OwnPage(c, s.Config.BaseURL) {
		return problem.New(problem.CodeCrossOrigin, "This form can only be sent from its own page. Open "+s.Config.BaseURL+strings.TrimSuffix(strings.Clone(c.Path()), "/report")+" and try again.")
	}
	return c.Next()
}
