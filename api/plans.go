package api

import (
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"plannerd/internal/httpkit"
	"plannerd/internal/planning"
	"plannerd/internal/statsio"
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
	in, m, err := s.readProposal(w, c)
	if err != nil {
		return err
	}
	if !m.has("interval") {
		m.refuse("interval", "is needed")
	}
	if err := m.problem(); err != nil {
		return err
	}
	claim, err := begin(s.shared, c, planReply)
	if err != nil {
		return err
	}
	in.proposal.Statistics, in.proposal.Claim = &in.Statistics, claim
	in.proposal.By, in.proposal.Memory = attributed(c.Context(), planning.Transition{}), c.memory
	p, err := s.service.Propose(c.Context(), name, in.proposal)
	if err != nil {
		return in.problemOf(err)
	}
	return finish(w, c, *p, planReply)
}

func (s plans) get(w http.ResponseWriter, c *call) error {
	keys := askedKeys(c.query)
	p, err := s.service.Plan(c.Context(), c.param("id"))
	if err != nil {
		return err
	}
	plain, err := planBody(p, keys)
	if err != nil {
		return err
	}
	include := strings.Split(c.query.Get("include"), ",")
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

func (s plans) list(w http.ResponseWriter, c *call) error {
	token, err := httpkit.ReadPageToken(c.URL.Path, c.query)
	if err != nil {
		return err
	}
	filter := planning.PlanFilter{
		Operator: c.param("operator"), Status: planning.Status(c.query.Get("status")), Before: token.Before, Limit: httpkit.PageSize(c.query),
	}
	if text := c.query.Get("interval"); text != "" {
		filter.Interval = new(int64)
		if !parseScalar(text, filter.Interval) {
			return invalid().WithParameter("interval", outOfRange)
		}
	}
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

func (s plans) migrations(w http.ResponseWriter, c *call) error {
	filter, err := readMoveFilter(c.query)
	if err != nil {
		return err
	}
	p, err := s.service.Plan(c.Context(), c.param("id"))
	if err != nil {
		return err
	}
	if err := refuseMeaningless(c.query, planning.MigratesOf(p)); err != nil {
		return err
	}
	listing, err := s.service.Migrations(c.Context(), p, filter, readSorting(c.query), c.memory)
	if err != nil {
		return err
	}
	return writeListing(w, c, "migrations", listing, askedKeys(c.query))
}

func (s plans) tableChanges(w http.ResponseWriter, c *call) error {
	filter, err := readKeyFilter(c.query)
	if err != nil {
		return err
	}
	p, err := s.service.Plan(c.Context(), c.param("id"))
	if err != nil {
		return err
	}
	listing, err := s.service.TableChanges(c.Context(), p, filter, c.memory)
	if err != nil {
		return err
	}
	return writeListing(w, c, "changes", listing, askedKeys(c.query))
}

func (s plans) flows(w http.ResponseWriter, c *call) error {
	p, err := s.service.Plan(c.Context(), c.param("id"))
	if err != nil {
		return err
	}
	listing, err := s.service.Flows(c.Context(), p, c.memory)
	if err != nil {
		return err
	}
	return writeListing(w, c, "flows", listing, keyCoder{})
}

// transition is a step of a plan's life as the contract shows it.
type transition struct {
	From   *planning.Status `json:"from"`
	To     planning.Status  `json:"to"`
	Actor  string           `json:"actor"`
	Reason string           `json:"reason"`
	At     time.Time        `json:"at"`
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
		out.Transitions[i] = transition{To: t.To, Actor: t.Actor, Reason: t.Reason, At: t.At.UTC()}
		if t.From != "" {
			out.Transitions[i].From = &all[i].From
		}
	}
	return httpkit.WriteTaggedJSON(w, c.Request, out)
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
	claim, err := begin(s.shared, c, stepReply)
	if err != nil {
		return err
	}
	step := planning.Step{Plan: id, By: attributed(c.Context(), planning.Transition{}), Guard: planGuard(c), Claim: claim}
	p, err := s.service.Resolve(c.Context(), step, in, c.memory)
	if err != nil {
		return pointed(err, in.Pointer)
	}
	return finish(w, c, p, stepReply)
}

// readResolution reads the body of a resolution.
func (s plans) readResolution(w http.ResponseWriter, c *call) (*statsio.Resolution, error) {
	media, params, err := mime.ParseMediaType(c.Header.Get("Content-Type"))
	if err != nil || !isUTF8(params) {
		return nil, unsupported(howToResolve)
	}
	decode := statsio.DecodeResolutionNDJSON
	switch media {
	case mediaNDJSON:
	case mediaCSV:
		decode = statsio.DecodeResolutionCSV
	default:
		return nil, unsupported(howToResolve)
	}
	body, options, err := s.bulkBody(w, c, media)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	in, err := decode(body, options)
	if err != nil {
		return nil, readProblem(c.Context(), err)
	}
	return in, planning.HoldResolution(in, c.memory)
}

// planGuard holds the preconditions of a request against a plan as GET shows it without
// lists.
func planGuard(c *call) planning.PlanGuard {
	return func(p planning.Plan) error {
		return httpkit.CheckPreconditions(c.Request, func() ([]byte, error) { return planBody(p, keyCoder{}) })
	}
}
