package api

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/go-json-experiment/json"

	"plannerd/api/wire"
	"plannerd/store"
)

// standing is how an operator stands, beside its configuration.
type standing struct {
	ConfigVersion      int64         `json:"config_version"`
	TableVersion       int64         `json:"table_version"`
	TableConfigVersion int64         `json:"table_config_version"`
	TableSize          int64         `json:"table_size"`
	LastEpoch          *int64        `json:"last_epoch"`
	LastInterval       *int64        `json:"last_interval"`
	CurrentPlan        *string       `json:"current_plan"`
	CurrentPlanStatus  *store.Status `json:"current_plan_status"`
	CreatedAt          time.Time     `json:"created_at"`
	UpdatedAt          time.Time     `json:"updated_at"`
}

func standingOf(op store.Operator) standing {
	out := standing{
		ConfigVersion: op.ConfigVersion, TableVersion: op.TableVersion, TableConfigVersion: op.TableConfigVersion,
		TableSize: op.TableSize, LastEpoch: op.LastEpoch, LastInterval: op.LastInterval, CreatedAt: op.CreatedAt.UTC(), UpdatedAt: op.UpdatedAt.UTC(),
	}
	if op.CurrentPlan != "" {
		out.CurrentPlan, out.CurrentPlanStatus = &op.CurrentPlan, &op.CurrentStatus
	}
	return out
}

func (s *server) putOperator(w http.ResponseWriter, c *call) error {
	var in wire.OperatorConfiguration
	if _, err := readSmall(w, c.Request, c.route, &in); err != nil {
		return err
	}
	config, err := normalise(in, "", s.limits.PlanTime)
	if err != nil {
		return err
	}
	text, err := config.encode()
	if err != nil {
		return err
	}
	name := c.param("operator")
	if err := s.begin(c, operatorReply); err != nil {
		return err
	}
	demanded := c.operatorGuard(func(op store.Operator) bool { return bytes.Equal(op.Config, text) })
	op, created, err := s.store.PutOperator(c.Context(), name, text, s.now(), demanded, fixed{config.Scheme, config.TableOwner}.guard)
	if err != nil {
		return aboutOperator(name, err)
	}
	if config.TableOwner == wire.Planner && config.Scheme != wire.SchemeRing {
		s.metrics.setTable(op)
	}
	return s.finish(w, c, func() (*reply, error) { return operatorReply(store.Outcome{Operator: op, Created: created}) })
}

// operatorReply is the answer with an operator that was put.
func operatorReply(out store.Outcome) (*reply, error) {
	body, err := operatorBody(out.Operator)
	if err != nil {
		return nil, err
	}
	r := &reply{status: http.StatusOK, ETag: etagOf(body), Body: string(body)}
	if out.Created {
		r.status, r.Location = http.StatusCreated, "/v1/operators/"+url.PathEscape(out.Operator.Name)
	}
	return r, nil
}

// guard refuses to change what was decided when an operator was created.
func (wanted fixed) guard(op *store.Operator) error {
	if op == nil {
		return nil
	}
	was, err := fixedOf(*op)
	switch {
	case err != nil:
		return err
	case was.Scheme != wanted.Scheme:
		return conflict(wire.CodeSchemeFixed, "The scheme was decided when the operator was created: it is "+string(was.Scheme)+".")
	case was.TableOwner != wanted.TableOwner:
		return conflict(wire.CodeTableOwnerFixed, "Who holds the routing table was decided when the operator was created.")
	}
	return nil
}

// operatorBody renders an operator as the contract shows it: its name, its
// configuration, and how it stands.
func operatorBody(op store.Operator) ([]byte, error) {
	config, err := decodeConfiguration(op.Config)
	if err != nil {
		return nil, err
	}
	text, err := config.encode()
	if err != nil {
		return nil, err
	}
	rest, err := json.Marshal(standingOf(op))
	if err != nil {
		return nil, err
	}
	b, err := openObject(struct {
		Name string `json:"name"`
	}{op.Name})
	if err != nil {
		return nil, err
	}
	for _, part := range [][]byte{text, rest} {
		b = append(append(b, ','), part[1:len(part)-1]...)
	}
	return append(b, '}'), nil
}

func (s *server) getOperator(w http.ResponseWriter, c *call) error {
	name := c.param("operator")
	op, err := s.store.Operator(c.Context(), name)
	if err != nil {
		return aboutOperator(name, err)
	}
	body, err := operatorBody(op)
	if err != nil {
		return err
	}
	writeTagged(w, c.Request, "application/json", body)
	return nil
}

func (s *server) deleteOperator(w http.ResponseWriter, c *call) error {
	name := c.param("operator")
	gone := func(store.Outcome) (*reply, error) { return &reply{status: http.StatusNoContent}, nil }
	if err := s.begin(c, gone); err != nil {
		return err
	}
	demanded := c.operatorGuard(func(store.Operator) bool { return false })
	if err := s.store.DeleteOperator(c.Context(), name, s.now(), demanded); err != nil {
		return aboutOperator(name, err)
	}
	s.metrics.forget(name)
	return s.finish(w, c, func() (*reply, error) { return gone(store.Outcome{}) })
}

// An operator may have very many instances. So a page of operators ends early
// when it is this long, in bytes, and the store is asked for few at a time.
const (
	maxPageBytes     = 4 << 20
	operatorsAtATime = 10
)

func (s *server) listOperators(w http.ResponseWriter, c *call) error {
	token := pageToken{list: c.URL.Path}
	if err := token.read(c.query); err != nil {
		return err
	}
	body, next, err := s.operatorPage(c.Context(), token, pageSize(c.query))
	if err != nil {
		return err
	}
	body = append([]byte(`{"operators":[`), body...)
	if body, err = appendMember(append(body, ']'), "next_page_token", next); err != nil {
		return err
	}
	writeBody(w, http.StatusOK, "application/json", append(body, '}'))
	return nil
}

// operatorPage returns the operators after those that the token names, at most
// size, comma-separated, and the token of the next page if there are more. What is
// closed to the caller is in neither.
func (s *server) operatorPage(ctx context.Context, token pageToken, size int) (body []byte, next *string, err error) {
	last := token.After
	for n := 0; ; {
		ops, err := s.store.Operators(ctx, last, operatorsAtATime)
		if err != nil {
			return nil, nil, err
		}
		for _, op := range ops {
			last = op.Name
			if sees(ctx, op.Name) != nil {
				continue
			}
			if n == size || len(body) >= maxPageBytes {
				return body, token.text(), nil
			}
			one, err := operatorBody(op)
			if err != nil {
				return nil, nil, aboutOperator(op.Name, err)
			}
			if n++; n > 1 {
				body = append(body, ',')
			}
			body = append(body, one...)
			token.After = op.Name
		}
		if len(ops) < operatorsAtATime {
			return body, nil, nil
		}
	}
}
