package api

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"plannerd/internal/input"
	"plannerd/internal/operator"
	"plannerd/internal/refusal"
	"plannerd/internal/service"
	"plannerd/internal/service/claim"
	"plannerd/internal/service/intake"
	"plannerd/internal/service/life"
	"plannerd/internal/service/listing"
	"plannerd/internal/service/scheme"
	"plannerd/internal/service/schemes"
	"plannerd/internal/web/contract"
	"plannerd/internal/web/httpkit"
	"plannerd/planner"
	"plannerd/sdk/go/wire"
)

// plans answers what is asked about plans.
type plans struct{ *shared }

func (s plans) create(w http.ResponseWriter, c *call) error {
	name := c.param("operator")
	if c.idempotent == nil { // else an earlier answer comes first
		if err := s.service.CheckOperator(c.Context(), name); err != nil { // before a large body is read
			return err
		}
	}
	names := s.namesOf(c.Context(), name)
	in, err := s.readStatistics(w, c, names)
	if err != nil {
		return err
	}
	in.readQueues(names)
	asked := intake.Proposal{
		Statistics: &in.Statistics, Reports: in.reports(), Memory: c.memory,
		By: attributed(c.Context(), service.Transition{}),
	}
	if err := in.problem(); err != nil {
		return err
	}
	return once(s.shared, w, c, planReply, func(held *claim.Claim[storedPlan]) (storedPlan, error) {
		asked.Claim = held
		p, err := s.service.Propose(c.Context(), name, asked)
		return p, in.problemOf(err)
	})
}

// readQueues reads the queue lengths that stand in place of keys, if any do.
func (st *statisticsRequest) readQueues(names *instanceNames) {
	in := member[[]wire.Queue](st.members, "queues")
	switch {
	case !st.has("queues"):
		return
	case !st.bare:
		st.refuse("queues", "cannot be sent together with keys, columns or the records of compact")
	case in != nil:
		lengths := make([]planner.Residual, len(*in))
		for i, q := range *in {
			lengths[i] = planner.Residual{Cost: q.Length}
			var detail string
			if lengths[i].Instance, detail = names.id(string(q.Instance)); detail != "" {
				st.refuse("queues/"+strconv.Itoa(i)+"/instance", worded(string(q.Instance), detail))
			}
		}
		st.ofQueues(lengths)
	}
}

// ofQueues has the request be about queue lengths, beside which only what says when and where
// they were measured has a meaning.
func (st *statisticsRequest) ofQueues(lengths []planner.Residual) {
	for _, name := range []string{"coverage", "residual", "config_version", "compact", "key_encoding"} {
		if st.has(name) {
			st.refuse(name, "is for statistics of keys: here are queue lengths")
		}
	}
	st.Queues, st.Statistics.Statistics = true, scheme.OfQueues(lengths)
}

// reports is how a plan is to be made of reports; nil: the statistics come whole.
func (st *statisticsRequest) reports() *intake.ReportsQuery {
	if !st.has("interval") {
		st.refuse("interval", "is needed")
	}
	if !st.bare || st.Queues {
		if st.has("missing") {
			st.refuse("missing", "is for plans made of reports: here are statistics")
		}
		return nil
	}
	for _, name := range []string{"table_version", "table_origin", "config_version", "coverage", "residual"} {
		if st.has(name) {
			st.refuse(name, "is for statistics: reports say it for themselves")
		}
	}
	return &intake.ReportsQuery{Missing: optional(st.members, "missing", operator.MissingReports(""))}
}

func (s plans) get(w http.ResponseWriter, c *call) error {
	keys := c.keys()
	p, err := s.service.Plan(c.Context(), c.param("id"))
	if err != nil {
		return err
	}
	plain, err := planBody(p, keys)
	if err != nil {
		return err
	}
	include := strings.Split(c.Query.Get("include"), ",")
	changes, migrations := slices.Contains(include, "routing_table"), slices.Contains(include, "migrations")
	if !changes && !migrations {
		httpkit.WriteTagged(w, c.Request, mediaJSON, plain)
		return nil
	}
	// What a resolution says may be replaced, all other lists are for ever.
	etag, lasts := etagOfList(plain, fmt.Sprintf("changes %t, migrations %t", changes, migrations)), p.ResolvedKeys == nil
	if lasts && httpkit.NotModified(w, c.Request, etag) {
		return nil
	}
	lists, err := s.service.Lists(c.Context(), p, changes, migrations, c.memory)
	if err != nil {
		return err
	}
	whole, err := newPlanText(p, lists, keys, nil)
	if err != nil {
		return err
	}
	if !lasts {
		if etag, err = httpkit.ETagOf(whole.write); err != nil || httpkit.NotModified(w, c.Request, etag) {
			return err
		}
	}
	return httpkit.WriteStream(w, c.Request, http.StatusOK, mediaJSON, whole.write)
}

// next answers with the plan that the operator's engine is to carry out, as soon as there is one.
func (s plans) next(w http.ResponseWriter, c *call) error {
	wait, err := waitOf(c)
	if err != nil {
		return err
	}
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(wait + s.limits.Pace.WriteTimeout))
	ctx, done := s.access.whileKnown(c.Request)
	defer done()
	p, startsAt, err := s.service.NextPlan(ctx, c.param("operator"), wait)
	if err != nil {
		return cmp.Or(unknownSince(ctx), err)
	}
	body := []byte("null")
	if p != nil {
		if body, err = planBody(*p, c.keys()); err != nil {
			return err
		}
	}
	httpkit.WriteTagged(w, c.Request, mediaJSON, fmt.Appendf(nil, `{"plan":%s,"starts_at":%s}`, body, timeOrNull(startsAt)))
	return nil
}

// timeOrNull is a time in JSON; null for the zero time.
func timeOrNull(at time.Time) string {
	if at.IsZero() {
		return "null"
	}
	return strconv.Quote(at.UTC().Format(time.RFC3339Nano))
}

func (s plans) list(w http.ResponseWriter, c *call) error {
	token, err := httpkit.ReadPageToken(c.URL.Path, c.Query)
	if err != nil {
		return err
	}
	filter := service.PlanFilter{Before: token.Before, Limit: httpkit.PageSize(c.Query)}
	c.Decode(&filter)
	found, next, err := s.service.Plans(c.Context(), filter)
	if err != nil {
		return err
	}
	out := struct {
		Plans []jsontext.Value `json:"plans"`
		Next  *string          `json:"next_page_token"`
	}{Plans: make([]jsontext.Value, len(found))}
	for i, p := range found {
		if out.Plans[i], err = planBody(p, keyCoder{}); err != nil {
			return err
		}
	}
	if next != 0 {
		token.Before = next
		out.Next = token.Text()
	}
	return httpkit.WriteJSON(w, http.StatusOK, out)
}

// listing is the handler of a long list of a plan, which is the member of that name.
func (s plans) listing(name string, read func(*call, service.Plan) (listing.Listing, error)) handler {
	return func(w http.ResponseWriter, c *call) error {
		p, err := s.service.Plan(c.Context(), c.param("id"))
		if err != nil {
			return err
		}
		listed, err := read(c, p)
		if err != nil {
			return err
		}
		names, err := s.namesInCSV(c, p.Operator, p.ConfigVersion)
		if err != nil {
			return err
		}
		return writeListing(w, c, name, listed, names)
	}
}

func (s plans) migrations(c *call, p service.Plan) (listing.Listing, error) {
	if err := s.namesOfPlan(c.Context(), c.param("id")).parameters(c); err != nil {
		return nil, err
	}
	filter, order, err := readMoveFilter(c)
	if err != nil {
		return nil, err
	}
	if err := refuseMeaningless(c.Query, schemes.MigratesOf(p)); err != nil {
		return nil, err
	}
	return s.service.Migrations(c.Context(), p, filter, order, c.memory)
}

func (s plans) tableChanges(c *call, p service.Plan) (listing.Listing, error) {
	if err := s.namesOfPlan(c.Context(), c.param("id")).parameters(c); err != nil {
		return nil, err
	}
	filter, err := readKeyFilter(c)
	if err != nil {
		return nil, err
	}
	return s.service.TableChanges(c.Context(), p, filter, c.memory)
}

func (s plans) flows(c *call, p service.Plan) (listing.Listing, error) {
	return s.service.Flows(c.Context(), p, c.memory)
}

// transition is a step of a plan's life as the contract shows it.
type transition struct {
	From   *service.Status `json:"from"`
	To     service.Status  `json:"to"`
	Kind   string          `json:"kind"`
	Actor  string          `json:"actor"`
	Reason string          `json:"reason"`
	At     time.Time       `json:"at"`
}

func (s plans) transitions(w http.ResponseWriter, c *call) error {
	all, err := s.service.Transitions(c.Context(), c.param("id"))
	if err != nil {
		return err
	}
	out := struct {
		Transitions []transition `json:"transitions"`
	}{make([]transition, len(all))}
	for i, t := range all {
		out.Transitions[i] = transitionOut(t)
	}
	return httpkit.WriteTaggedJSON(w, c.Request, out)
}

func transitionOut(t service.Transition) transition {
	out := transition{To: t.To, Kind: cmp.Or(string(t.Kind), "step"), Actor: t.Actor, Reason: t.Reason, At: t.At.UTC()}
	if t.From != "" {
		out.From = &t.From
	}
	return out
}

const howToResolve = "This operation takes application/x-ndjson and text/csv: " +
	"curl -X PUT -H 'Content-Type: text/csv' --data-binary @keys.csv."

// resolve takes the keys of a plan of classes.
func (s plans) resolve(w http.ResponseWriter, c *call) error {
	id := c.param("id")
	if c.idempotent == nil { // else an earlier answer comes first
		if err := s.service.CheckResolvable(c.Context(), id, planGuard(c)); err != nil { // before a large body is read
			return err
		}
	}
	in, err := s.readResolution(w, c)
	if err != nil {
		return err
	}
	return once(s.shared, w, c, stepReply, func(held *claim.Claim[service.Plan]) (service.Plan, error) {
		by := attributed(c.Context(), service.Transition{})
		step := life.Step{Plan: id, By: by, Guard: planGuard(c), Claim: held}
		p, err := s.service.Resolve(c.Context(), step, in, c.memory)
		return p, pointed(err, in.Pointer)
	})
}

// readResolution reads the body of a resolution.
func (s plans) readResolution(w http.ResponseWriter, c *call) (*input.Resolution, error) {
	media, ok := contract.MediaType(c.Request)
	if !ok || media != mediaNDJSON && media != mediaCSV {
		return nil, httpkit.Unsupported(howToResolve)
	}
	body, options, err := s.bulkBody(w, c, media)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	options.Instances = &input.Names{}
	in, err := input.DecodeResolution(body, formats[media], options)
	if err != nil {
		return nil, readProblem(c.Context(), err)
	}
	names := s.namesOfPlan(c.Context(), c.param("id"))
	err = in.Identify(options.Instances, names.id)
	return in, cmp.Or(names.err, err)
}

// pointed points the problems of a refusal at the rows of the request.
func pointed(err error, pointer func(row int, field string) string) error {
	var refused *refusal.Error
	if !errors.As(err, &refused) || len(refused.Problems) == 0 {
		return err
	}
	p := refusalProblem(refused)
	for i, one := range refused.Problems {
		if one.Field != "" {
			at := pointer(one.Row, one.Field)
			p.Errors[i].Pointer = &at
		}
	}
	return p
}

// planGuard holds the preconditions of a request against a plan as GET shows it without
// lists.
func planGuard(c *call) life.PlanGuard {
	return func(p service.Plan) error {
		return httpkit.CheckPreconditions(c.Request, func() ([]byte, error) { return planBody(p, keyCoder{}) })
	}
}
