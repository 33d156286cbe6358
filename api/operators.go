package api

import (
	"bytes"
	"context"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"plannerd/internal/operator"
	"plannerd/internal/service"
	"plannerd/internal/service/claim"
	"plannerd/internal/service/foresight"
	"plannerd/internal/service/reading"
	"plannerd/internal/web/contract"
	"plannerd/internal/web/httpkit"
	"plannerd/planner/partitioner"
	"plannerd/sdk/go/wire"
)

// operators answers what is asked about operators and their configuration.
type operators struct{ *shared }

// operatorStatus is how an operator stands, beside its configuration.
type operatorStatus struct {
	ConfigVersion      int64           `json:"config_version"`
	TableVersion       int64           `json:"table_version"`
	TableConfigVersion int64           `json:"table_config_version"`
	TableSize          int64           `json:"table_size"`
	LastEpoch          *int64          `json:"last_epoch"`
	LastInterval       *int64          `json:"last_interval"`
	CurrentPlan        *string         `json:"current_plan"`
	CurrentPlanStatus  *service.Status `json:"current_plan_status"`
	Freeze             *wire.Freeze    `json:"freeze"`
	MisplacesUnseen    bool            `json:"misplaces_unseen_keys,omitzero"`
	StartsAt           *time.Time      `json:"starts_at"`
	CreatedAt          time.Time       `json:"created_at"`
	UpdatedAt          time.Time       `json:"updated_at"`
}

func operatorStatusOf(op reading.Operator) (operatorStatus, error) {
	out := operatorStatus{
		ConfigVersion: op.ConfigVersion, TableVersion: op.TableVersion, TableConfigVersion: op.TableConfigVersion,
		TableSize: op.TableSize, Freeze: freezeOut(op.Freeze), LastEpoch: op.LastEpoch, LastInterval: op.LastInterval,
		CreatedAt: op.CreatedAt.UTC(), UpdatedAt: op.UpdatedAt.UTC(), MisplacesUnseen: op.Configuration.MisplacesUnseen(),
	}
	if op.CurrentPlan != "" {
		out.CurrentPlan, out.CurrentPlanStatus = &op.CurrentPlan, &op.CurrentStatus
	}
	at, err := operator.StartsAt(op.Operator, op.ReadAt)
	if !at.IsZero() {
		out.StartsAt = &at
	}
	return out, err
}

// operatorBody renders an operator as the contract shows it: its name, its
// configuration, and how it stands.
func operatorBody(op reading.Operator) ([]byte, error) {
	text, err := op.Configuration.Encode()
	if err != nil {
		return nil, err
	}
	name := struct {
		Name string `json:"name"`
	}{op.Name}
	status, err := operatorStatusOf(op)
	if err != nil {
		return nil, err
	}
	body, err := openObject(name, jsontext.Value(text), status)
	return append(body, '}'), err
}

// operatorReply is the answer with an operator that was put.
func operatorReply(op reading.Operator) (*reply, error) {
	body, err := operatorBody(op)
	if err != nil {
		return nil, err
	}
	r := &reply{status: http.StatusOK, ETag: httpkit.ETag(body), Body: string(body)}
	if op.Created {
		r.status, r.Location = http.StatusCreated, "/v1/operators/"+url.PathEscape(op.Name)
	}
	return r, nil
}

// operatorGuard holds the preconditions of a request against the operator.
func operatorGuard(c *call) reading.OperatorGuard {
	return func(current *reading.Operator) error {
		if current == nil {
			return httpkit.CheckPreconditions(c.Request, nil)
		}
		return httpkit.CheckPreconditions(c.Request, func() ([]byte, error) { return operatorBody(*current) })
	}
}

// by is the context of what a call changes of an operator: the doing of its caller.
func by(c *call) context.Context {
	return service.WithActor(c.Context(), attributed(c.Context(), service.Transition{Actor: c.Query.Get("actor")}).Actor)
}

func (s operators) put(w http.ResponseWriter, c *call) error {
	var text jsontext.Value
	if err := c.readJSON(w, &text); err != nil {
		return err
	}
	text, err := s.writable(c, text)
	if err != nil {
		return err
	}
	unlessSame := c.Header.Get("If-None-Match") == ""
	if operator.NamesGiven(text) {
		replace := func(_ []byte, known operator.InstanceNames) (operator.Configuration, error) {
			return readConfiguration(text, "", partitioner.Ring, s.limits.PlanTime, known)
		}
		return once(s.shared, w, c, operatorReply, func(held *claim.Claim[reading.Operator]) (reading.Operator, error) {
			return s.service.Reconfigure(by(c), c.param("operator"), replace, operatorGuard(c), true, unlessSame, held)
		})
	}
	config, err := readConfiguration(text, "", partitioner.Ring, s.limits.PlanTime, operator.InstanceNames{})
	if err != nil {
		return err
	}
	return once(s.shared, w, c, operatorReply, func(held *claim.Claim[reading.Operator]) (reading.Operator, error) {
		return s.service.Configure(by(c), c.param("operator"), config, operatorGuard(c), unlessSame, held)
	})
}

// patch changes what a JSON Merge Patch names of a configuration.
func (s operators) patch(w http.ResponseWriter, c *call) error {
	var patch jsontext.Value
	if err := c.readJSON(w, &patch); err != nil {
		return err
	}
	patch, err := contract.ReadShares(patch, s.configuration, "")
	if err != nil {
		return err
	}
	if patch, err = s.writable(c, patch); err != nil {
		return err
	}
	change := func(was []byte, known operator.InstanceNames) (out operator.Configuration, err error) {
		text, err := operator.PatchedFrom(was, patch)
		if err == nil {
			text, err = httpkit.MergePatch(text, patch)
		}
		if err == nil {
			err = contract.Decode(text, new(jsontext.Value), "", s.configuration)
		}
		if err != nil {
			return out, err
		}
		return readConfiguration(text, "", partitioner.Ring, s.limits.PlanTime, known)
	}
	return once(s.shared, w, c, operatorReply, func(held *claim.Claim[reading.Operator]) (reading.Operator, error) {
		return s.service.Reconfigure(by(c), c.param("operator"), change, operatorGuard(c), false, true, held)
	})
}

// writable returns what a configuration, or a change of one, says about what can be
// changed. What it says of the rest must be as the operator stands, so that what was read
// can be sent back.
func (s operators) writable(c *call, text jsontext.Value) (jsontext.Value, error) {
	var said, is map[string]jsontext.Value
	if err := json.Unmarshal(text, &said); err != nil {
		return nil, err
	}
	fixed := slices.DeleteFunc(slices.Collect(maps.Keys(said)), func(name string) bool {
		p := s.configuration.Properties[name]
		return p == nil || !p.Value.ReadOnly
	})
	if len(fixed) == 0 {
		return text, nil
	}
	op, err := s.service.Operator(c.Context(), c.param("operator"))
	if err != nil {
		return nil, err
	}
	body, err := operatorBody(op)
	if err == nil {
		err = json.Unmarshal(body, &is)
	}
	if err != nil {
		return nil, err
	}
	bad := httpkit.Invalid()
	for _, name := range fixed {
		if !bytes.Equal(said[name], is[name]) {
			bad.At("/"+name, "cannot be changed: it is "+string(is[name]))
		}
		delete(said, name)
	}
	if err := bad.OrNil(); err != nil {
		return nil, err
	}
	return json.Marshal(said, json.Deterministic(true))
}

func (s operators) get(w http.ResponseWriter, c *call) error {
	op, err := s.service.Operator(c.Context(), c.param("operator"))
	if err != nil {
		return err
	}
	body, err := operatorBody(op)
	if err != nil {
		return err
	}
	bodies := []jsontext.Value{body}
	if err := s.includeRecent(c, []reading.Operator{op}, bodies); err != nil {
		return err
	}
	httpkit.WriteTagged(w, c.Request, mediaJSON, bodies[0])
	return nil
}

func (s operators) delete(w http.ResponseWriter, c *call) error {
	gone := func(struct{}) (*reply, error) { return &reply{status: http.StatusNoContent}, nil }
	return once(s.shared, w, c, gone, func(held *claim.Claim[struct{}]) (struct{}, error) {
		return struct{}{}, s.service.Delete(c.Context(), c.param("operator"), operatorGuard(c), held)
	})
}

// maxPageBytes: an operator may have very many instances, so a page of operators ends
// early when it is this long, in bytes.
const maxPageBytes = 4 << 20

func (s operators) list(w http.ResponseWriter, c *call) error {
	token, err := httpkit.ReadPageToken(c.URL.Path, c.Query)
	if err != nil {
		return err
	}
	found, next, err := s.page(c.Context(), token, httpkit.PageSize(c.Query))
	if err != nil {
		return err
	}
	page := struct {
		Operators []jsontext.Value `json:"operators"`
		Next      *string          `json:"next_page_token"`
	}{make([]jsontext.Value, len(found)), next}
	ops := make([]reading.Operator, len(found))
	for i, op := range found {
		ops[i], page.Operators[i] = op.Operator, op.body
	}
	if err := s.includeRecent(c, ops, page.Operators); err != nil {
		return err
	}
	return httpkit.WriteTaggedJSON(w, c.Request, page)
}

// includeRecent adds to operators how they went lately, if that is asked for.
func (s operators) includeRecent(c *call, ops []reading.Operator, bodies []jsontext.Value) error {
	if c.Query.Get("include") != "recent" {
		return nil
	}
	window := foresight.RecentPlans
	if text := c.Query.Get("window"); text != "" {
		window, _ = strconv.Atoi(text) // the contract has seen it
	}
	recent, err := s.service.Recent(c.Context(), ops, window)
	if err != nil {
		return err
	}
	for i, r := range recent {
		out := struct {
			Thetas   []float64          `json:"thetas"`
			Plans    []jsontext.Value   `json:"plans"`
			Realised foresight.Realised `json:"realised"`
		}{r.Realised.Thetas(), make([]jsontext.Value, len(r.Plans)), r.Realised}
		for j, p := range r.Plans {
			if out.Plans[j], err = planBody(p, keyCoder{}); err != nil {
				return err
			}
		}
		text, err := json.Marshal(out)
		if err != nil {
			return err
		}
		body := append(bytes.TrimSuffix(bodies[i], []byte("}")), `,"recent":`...)
		bodies[i] = append(append(body, text...), '}')
	}
	return nil
}

// listedOperator is an operator and how it is shown.
type listedOperator struct {
	reading.Operator
	body jsontext.Value
}

// page returns the operators after those that the token names, at most size, and the
// token of the next page if there are more. What is closed to the caller is in neither.
func (s operators) page(
	ctx context.Context, token httpkit.PageToken, size int,
) (page []listedOperator, next *string, err error) {
	bytes := 0
	var ahead func(string) (string, bool)
	if caller := callerOf(ctx); caller != nil {
		ahead = caller.Ahead
	}
	for op, err := range s.service.Operators(ctx, token.After, ahead) {
		switch {
		case err != nil:
			return nil, nil, err
		case sees(ctx, op.Name) != nil:
			continue
		case len(page) == size || bytes >= maxPageBytes:
			return page, token.Text(), nil
		}
		one, err := operatorBody(op)
		if err != nil {
			return nil, nil, err
		}
		page, bytes, token.After = append(page, listedOperator{op, one}), bytes+len(one), op.Name
	}
	return page, nil, nil
}
