package api

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"

	"plannerd/api/wire"
	"plannerd/internal/statsio"
	"plannerd/planner"
	"plannerd/store"
)

// configuration reads a version of an operator's configuration.
func (s *server) configuration(ctx context.Context, operator string, version int64) (configuration, error) {
	stored, err := s.store.Configuration(ctx, operator, version)
	if err != nil {
		return configuration{}, aboutOperator(operator, err)
	}
	return decodeConfiguration(stored.Config)
}

func entriesOf(entries []store.Entry) iter.Seq[statsio.Entry] {
	return func(yield func(statsio.Entry) bool) {
		for _, e := range entries {
			if !yield(statsio.Entry(e)) {
				return
			}
		}
	}
}

func (s *server) getRoute(w http.ResponseWriter, c *call) error {
	keys, name := askedKeys(c.query), c.param("operator")
	key, ok := keys.decodeKey(c.query.Get("key"))
	if !ok {
		return invalid().withParameter("key", "must be in the encoding that key_encoding names")
	}
	if len(key) == 0 || len(key) > planner.MaxKeyBytes {
		return invalid().withParameter("key", fmt.Sprintf("must be 1 to %d bytes long", planner.MaxKeyBytes))
	}
	op, id, found, err := s.store.Route(c.Context(), name, key)
	if err != nil {
		return aboutOperator(name, err)
	}
	if err := refuseNotHeld(op); err != nil {
		return err
	}
	out := wire.Route{Operator: name, Key: keys.text(key), Instance: id, Source: wire.RouteSourceTable, Version: op.TableVersion}
	if keys.base64 {
		encoding := wire.RouteKeyEncodingBase64
		out.KeyEncoding = &encoding
	}
	f, err := fixedOf(op)
	switch {
	case err != nil:
		return err
	case f.Scheme != wire.SchemeTable:
		if err := s.routeScheme(c, key, &out); err != nil {
			return err
		}
	case !found:
		if out.Instance, err = s.hashed(c, op, key); err != nil {
			return err
		}
		out.Source = wire.RouteSourceHash
	}
	return writeJSON(w, out)
}

// routeScheme says where the tokens or the owners put a key.
func (s *server) routeScheme(c *call, key []byte, out *wire.Route) error {
	name := c.param("operator")
	table, err := s.store.Table(c.Context(), name, nil)
	if err != nil {
		return aboutOperator(name, err)
	}
	config, err := s.configuration(c.Context(), name, table.ConfigVersion)
	if err != nil {
		return err
	}
	read, err := readLayout(config, table.Entries)
	if err != nil {
		return err
	}
	out.Version, out.Source = table.Version, wire.RouteSourceRange
	if held, ok := read.(tokens); ok {
		out.Source = wire.RouteSourceRing
		place, err := s.ring(c.Context(), config, held)
		if err != nil {
			return err
		}
		out.Instance, err = place.Instance(key, planner.KeyHash(key))
		return err
	}
	out.Instance, err = read.placed().Instance(key, planner.KeyHash(key))
	if errors.Is(err, errNobody) {
		return conflict(wire.CodeNobodyOwns, "No plan of the operator's key ranges was committed yet: nobody owns the key.")
	}
	return err
}

// ring returns a ring that is kept beside those of configurations: building a
// large one takes long.
func (s *server) ring(ctx context.Context, config configuration, held tokens) (planner.HashFunction, error) {
	config.Instances = make([]instance, len(held))
	for i, n := range held {
		config.Instances[i] = instance{ID: n.ID, Capacity: 1, Tokens: n.Tokens}
	}
	text, err := config.encode()
	if err != nil {
		return nil, err
	}
	p, err := s.placement.get(ctx, text)
	if err != nil {
		return nil, err
	}
	return p.planner.Hash, nil
}

// hashed returns where the pinned hash function puts a key without an entry.
func (s *server) hashed(c *call, op store.Operator, key []byte) (int32, error) {
	pinned, err := s.pinned(c.Context(), op)
	if err != nil {
		return 0, err
	}
	if pinned.planner.Hash == nil {
		return 0, conflict(wire.CodeHashNotKnown, "The key has no entry in the routing table, and the hash function is the engine's own.")
	}
	id, err := pinned.planner.Hash.Instance(key, planner.KeyHash(key))
	if err != nil {
		return 0, invalid().withParameter("key", err.Error())
	}
	return id, nil
}
