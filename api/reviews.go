package api

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"plannerd/internal/operator"
	"plannerd/internal/refusal"
	"plannerd/internal/service"
	"plannerd/internal/service/reading"
	"plannerd/internal/web/httpkit"
	"plannerd/sdk/go/wire"
)

// reviews answers what changed.
type reviews struct{ *shared }

// comparedPlan is what a plan costs and gains.
type comparedPlan struct {
	ID          string                `json:"id"`
	Epoch       int64                 `json:"epoch"`
	Interval    int64                 `json:"interval"`
	Status      service.Status        `json:"status"`
	BaseVersion int64                 `json:"base_version"`
	Theta       wire.Comparison       `json:"theta"`
	Migration   wire.MigrationFigures `json:"migration"`
}

func comparedOf(p service.Plan) comparedPlan {
	return comparedPlan{p.ID, p.Epoch, p.Interval, p.Status, p.BaseVersion,
		wire.Comparison{Before: p.ThetaBefore, After: p.ThetaAfter}, migrationOut(p.Figures)}
}

func (s reviews) diff(w http.ResponseWriter, c *call) error {
	this, err := s.service.Plan(c.Context(), c.param("id"))
	if err != nil {
		return err
	}
	other, err := s.service.Plan(c.Context(), c.Query.Get("with"))
	var refused *refusal.Error
	unknown := errors.As(err, &refused) && refused.Reason == refusal.PlanNotFound
	if unknown || err == nil && other.Operator != this.Operator {
		return httpkit.Invalid().WithParameter("with", "is no plan of the operator "+strconv.Quote(this.Operator))
	}
	if err != nil {
		return err
	}
	d, err := s.service.PlanDiff(c.Context(), this, other, c.memory)
	if err != nil {
		return err
	}
	plans, err := json.Marshal(struct {
		This      comparedPlan `json:"this"`
		Other     comparedPlan `json:"other"`
		Same      int          `json:"same"`
		Elsewhere int          `json:"elsewhere"`
		OnlyThis  int          `json:"only_this"`
		OnlyOther int          `json:"only_other"`
	}{comparedOf(this), comparedOf(other), d.Same, d.Elsewhere, d.OnlyFirst, d.OnlySecond})
	if err != nil {
		return err
	}
	return writeListingAfter(w, c, string(plans[1:len(plans)-1])+",", "keys", d.Differing, nil)
}

// configurationVersion is a version of a configuration, without it.
type configurationVersion struct {
	Version   int64                 `json:"version"`
	CreatedAt time.Time             `json:"created_at"`
	Actor     string                `json:"actor"`
	Since     *int64                `json:"since"`
	Changes   []operator.Difference `json:"changes"`
}

func versionOut(v reading.ConfigurationVersion) configurationVersion {
	out := configurationVersion{Version: v.Version, CreatedAt: v.CreatedAt.UTC(), Actor: v.Actor,
		Changes: append([]operator.Difference{}, v.Changes...)}
	if v.Since != 0 {
		out.Since = &v.Since
	}
	return out
}

func (s reviews) configurations(w http.ResponseWriter, c *call) error {
	token, err := httpkit.ReadPageToken(c.URL.Path, c.Query)
	if err != nil {
		return err
	}
	all, next, err := s.service.Configurations(c.Context(), c.param("operator"), token.Before, httpkit.PageSize(c.Query))
	if err != nil {
		return err
	}
	out := struct {
		Configurations []configurationVersion `json:"configurations"`
		Next           *string                `json:"next_page_token"`
	}{Configurations: make([]configurationVersion, len(all))}
	for i, v := range all {
		out.Configurations[i] = versionOut(v)
	}
	if next != 0 {
		token.Before = next
		out.Next = token.Text()
	}
	return httpkit.WriteTaggedJSON(w, c.Request, out)
}

func (s reviews) configuration(w http.ResponseWriter, c *call) error {
	var since *int64
	if c.Query.Has("since") { // the contract has checked it, as the version
		since = new(number(c.Query.Get("since")))
	}
	v, err := s.service.ConfigurationVersion(c.Context(), c.param("operator"), number(c.param("version")), since)
	if err != nil {
		return err
	}
	config, err := operator.DecodeConfiguration(v.Config)
	if err != nil {
		return err
	}
	text, err := config.Encode()
	if err != nil {
		return err
	}
	return httpkit.WriteTaggedJSON(w, c.Request, struct {
		configurationVersion
		Configuration jsontext.Value `json:"configuration"`
	}{versionOut(v), text})
}

// number is a number that the contract has checked.
func number(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}

// freezeChange is the begin of a freeze, or its end.
type freezeChange struct {
	At     time.Time `json:"at"`
	Actor  string    `json:"actor"`
	Ended  bool      `json:"ended"`
	Until  time.Time `json:"until"`
	Reason string    `json:"reason"`
	All    bool      `json:"all"`
}

// planStep is a step of some plan.
type planStep struct {
	Plan     string `json:"plan"`
	Interval int64  `json:"interval"`
	transition
}

func (s reviews) changes(w http.ResponseWriter, c *call) error {
	since, err := time.Parse(time.RFC3339, c.Query.Get("since"))
	if err != nil {
		return httpkit.Invalid().WithParameter("since", "must be a time such as 2030-11-29T06:00:00Z")
	}
	found, err := s.service.OperatorChanges(c.Context(), c.param("operator"), since)
	if err != nil {
		return err
	}
	out := struct {
		Since         time.Time                `json:"since"`
		Until         time.Time                `json:"until"`
		Plans         map[service.Status]int64 `json:"plans"`
		Comments      int64                    `json:"comments"`
		Configuration *configurationVersion    `json:"configuration"`
		Freezes       []freezeChange           `json:"freezes"`
		Steps         []planStep               `json:"steps"`
	}{since.UTC(), found.Until.UTC(), found.Counts, found.Comments, nil, make([]freezeChange, len(found.Freezes)),
		make([]planStep, len(found.Steps))}
	if found.Configuration != nil {
		out.Configuration = new(versionOut(*found.Configuration))
	}
	for i, f := range found.Freezes {
		out.Freezes[i] = freezeChange{f.At.UTC(), f.Actor, f.Ended, f.Until.UTC(), f.Reason, f.All}
	}
	for i, step := range found.Steps {
		out.Steps[i] = planStep{step.Plan, step.Interval, transitionOut(step.Transition)}
	}
	return httpkit.WriteJSON(w, http.StatusOK, out)
}
