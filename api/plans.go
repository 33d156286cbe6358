package api

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"plannerd/api/wire"
	"plannerd/store"
)

func (s *server) createPlan(w http.ResponseWriter, c *call) error {
	name := c.param("operator")
	if c.once == nil { // else an earlier answer comes first
		if _, err := s.store.Operator(c.Context(), name); err != nil { // before a large body is read
			return aboutOperator(name, err)
		}
	}
	in, m, err := s.readPlanRequest(w, c)
	if err != nil {
		return err
	}
	if !m.has("interval") {
		m.refuse("interval", "is needed")
	}
	if err := m.problem(); err != nil {
		return err
	}
	in.kept = &lists{}
	if err := s.begin(c, plannedReply(in.kept)); err != nil {
		return err
	}
	p, err := s.makePlan(c.Context(), name, in)
	if err != nil {
		return err
	}
	return s.finish(w, c, p.reply)
}

func (s *server) getPlan(w http.ResponseWriter, c *call) error {
	id, keys := c.param("id"), askedKeys(c.query)
	p, err := s.store.Plan(c.Context(), id)
	if err != nil {
		return aboutPlan(id, err)
	}
	plain, err := planBody(p, keys)
	if err != nil {
		return err
	}
	include := strings.Split(c.query.Get("include"), ",")
	changes, migrations := slices.Contains(include, "routing_table"), slices.Contains(include, "migrations")
	if !changes && !migrations {
		writeTagged(w, c.Request, "application/json", plain)
		return nil
	}
	// What a resolution says may be replaced, all other lists are for ever.
	etag, lasts := etagOfList(plain, fmt.Sprintf("changes %t, migrations %t", changes, migrations)), p.ResolvedKeys == nil
	if lasts && notModified(w, c.Request, etag) {
		return nil
	}
	var l lists
	if err := s.include(c, p, &l, changes, migrations); err != nil {
		return err
	}
	whole, err := newPlanText(p, l, keys, nil)
	if err != nil {
		return err
	}
	if !lasts {
		if etag, err = etagOfText(whole.write); err != nil || notModified(w, c.Request, etag) {
			return err
		}
	}
	return writeStream(w, c.Request, http.StatusOK, "application/json", whole.write)
}

// include reads the lists of a plan that are asked for.
func (s *server) include(c *call, p store.Plan, l *lists, changes, migrations bool) (err error) {
	ctx := c.Context()
	if changes || migrations {
		if err := c.list(listLength(p)); err != nil {
			return err
		}
	}
	if schemeOf(p.Strategy) != wire.SchemeTable {
		return s.includeShift(ctx, p, l, changes, migrations)
	}
	if changes {
		if l.changes, err = s.changes(ctx, p); err != nil {
			return err
		}
	}
	if migrations {
		l.migrations, err = s.migrations(ctx, p.ID)
	}
	return err
}

// includeShift is include under the schemes ring and ranges.
func (s *server) includeShift(ctx context.Context, p store.Plan, l *lists, changes, migrations bool) error {
	if !changes && !migrations {
		return nil
	}
	found, err := s.shift(ctx, p)
	if err != nil {
		return err
	}
	if changes {
		l.shift = found
	}
	if migrations {
		l.migrations = found.migrations()
	}
	return nil
}

// askedKeys returns the key encoding that a request asks for.
func askedKeys(query url.Values) keyCoder {
	return keyCoder{base64: query.Get("key_encoding") == "base64"}
}

func (s *server) listPlans(w http.ResponseWriter, c *call) error {
	name := c.param("operator")
	token := pageToken{list: c.URL.Path}
	if err := token.read(c.query); err != nil {
		return err
	}
	if _, err := s.store.Operator(c.Context(), name); err != nil {
		return aboutOperator(name, err)
	}
	filter := store.PlanFilter{Operator: name, Status: store.Status(c.query.Get("status")), Before: token.Before, Limit: pageSize(c.query)}
	if text := c.query.Get("interval"); text != "" {
		interval, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return invalid().withParameter("interval", outOfRange)
		}
		filter.Interval = &interval
	}
	plans, next, err := s.store.Plans(c.Context(), filter)
	if err != nil {
		return aboutOperator(name, err)
	}
	out := struct {
		Plans []jsontext.Value `json:"plans"`
		Next  *string          `json:"next_page_token"`
	}{Plans: make([]jsontext.Value, len(plans))}
	for i, p := range plans {
		if out.Plans[i], err = planBody(p, keyCoder{}); err != nil {
			return err
		}
	}
	if next != 0 {
		token.Before = next
		out.Next = token.text()
	}
	return writeJSON(w, out)
}
