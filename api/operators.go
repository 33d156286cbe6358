package api

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/go-json-experiment/json"

	"plannerd/api/wire"
	"plannerd/store"
)

// operator is an operator as the contract shows it: its configuration, and how
// it stands.
type operator struct {
	Name string `json:"name"`
	configuration
	ConfigVersion      int64     `json:"config_version"`
	TableVersion       int64     `json:"table_version"`
	TableConfigVersion int64     `json:"table_config_version"`
	TableSize          int64     `json:"table_size"`
	LastEpoch          *int64    `json:"last_epoch"`
	LastInterval       *int64    `json:"last_interval"`
	CurrentPlan        *string   `json:"current_plan"`
	CreatedAt          time.Time `json:"created_at"`
	UpdatedAt          time.Time `json:"updated_at"`
}

func operatorOf(op store.Operator) (operator, error) {
	c, err := decodeConfiguration(op.Config)
	if err != nil {
		return operator{}, err
	}
	out := operator{
		Name: op.Name, configuration: c,
		ConfigVersion: op.ConfigVersion, TableVersion: op.TableVersion, TableConfigVersion: op.TableConfigVersion,
		TableSize: op.TableSize, LastEpoch: op.LastEpoch, LastInterval: op.LastInterval, CreatedAt: op.CreatedAt.UTC(), UpdatedAt: op.UpdatedAt.UTC(),
	}
	if op.CurrentPlan != "" {
		out.CurrentPlan = &op.CurrentPlan
	}
	return out, nil
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
	if err := s.checkOwner(c.Context(), name, config.TableOwner); err != nil {
		return err
	}
	op, created, err := s.store.PutOperator(c.Context(), name, text, s.now())
	if err != nil {
		return aboutOperator(name, err)
	}
	if config.TableOwner == wire.Planner {
		s.metrics.setTable(op)
	}
	body, err := operatorBody(op)
	if err != nil {
		return err
	}
	w.Header().Set("ETag", etagOf(body))
	status := http.StatusOK
	if created {
		status = http.StatusCreated
		w.Header().Set("Location", "/v1/operators/"+url.PathEscape(name))
	}
	writeBody(w, status, "application/json", body)
	return nil
}

// checkOwner refuses to change who holds the routing table of an operator.
func (s *server) checkOwner(ctx context.Context, name string, owner wire.TableOwner) error {
	op, err := s.store.Operator(ctx, name)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return aboutOperator(name, err)
	}
	held, err := engineHolds(op)
	if err != nil {
		return aboutOperator(name, err)
	}
	if held != (owner == wire.Engine) {
		return conflict(wire.CodeTableOwnerFixed, "Who holds the routing table was decided when the operator was created.")
	}
	return nil
}

func operatorBody(op store.Operator) ([]byte, error) {
	out, err := operatorOf(op)
	if err != nil {
		return nil, err
	}
	return json.Marshal(out)
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
	if err := s.store.DeleteOperator(c.Context(), name, s.now()); err != nil {
		return aboutOperator(name, err)
	}
	s.metrics.forget(name)
	w.WriteHeader(http.StatusNoContent)
	return nil
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
// size, comma-separated, and the token of the next page if there are more.
func (s *server) operatorPage(ctx context.Context, token pageToken, size int) (body []byte, next *string, err error) {
	for n := 0; ; {
		ops, err := s.store.Operators(ctx, token.After, operatorsAtATime)
		if err != nil {
			return nil, nil, err
		}
		for _, op := range ops {
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
