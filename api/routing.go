package api

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strconv"

	"plannerd/api/wire"
	"plannerd/internal/statsio"
	"plannerd/planner"
	"plannerd/store"
)

// routingTable is a routing table without its entries, in the order of the contract.
type routingTable struct {
	Operator      string      `json:"operator"`
	Scheme        wire.Scheme `json:"scheme"`
	Version       int64       `json:"version"`
	ConfigVersion int64       `json:"config_version"`
	Hash          *hash       `json:"hash,omitzero"` // nil under the schemes ring and ranges
	Instances     []instance  `json:"instances"`
	Pending       *struct{}   `json:"pending"` // no table is rolled out beside another
	KeyEncoding   string      `json:"key_encoding,omitzero"`
}

func (s *server) getRoutingTable(w http.ResponseWriter, c *call) error {
	name := c.param("operator")
	op, err := s.store.Operator(c.Context(), name)
	if err != nil {
		return aboutOperator(name, err)
	}
	if err := refuseNotHeld(op); err != nil {
		return err
	}
	if err := holdTable(c.memory, op); err != nil {
		return err
	}
	table, err := s.readTable(c)
	if err != nil {
		return err
	}
	w.Header().Set("Plannerd-Table-Version", strconv.FormatInt(table.Version, 10))
	if f, err := fixedOf(op); f.Scheme != wire.SchemeTable || err != nil {
		return s.getLayout(w, c, table)
	}
	return writeTable(w, c, s, table, "entries", entriesOf(table))
}

// writeTable answers with a version of the table, whose records are what name
// says. A version never changes, so what says which one it is decides its ETag.
func writeTable[R statsio.Record](w http.ResponseWriter, c *call, s *server, table store.Table, name string, records iter.Seq[R]) error {
	operator, keys := c.param("operator"), askedKeys(c.query)
	config, err := s.configuration(c.Context(), operator, table.ConfigVersion)
	if err != nil {
		return err
	}
	head := routingTable{
		Operator: operator, Scheme: config.Scheme, Version: table.Version, ConfigVersion: table.ConfigVersion,
		Instances: config.Instances, KeyEncoding: keys.member(),
	}
	if config.Scheme == wire.SchemeTable {
		head.Hash = &config.Hash
	}
	opening, err := openObject(head)
	if err != nil {
		return err
	}
	if notModified(w, c.Request, etagOfList(opening, c.media)) {
		return nil
	}
	if c.media == mediaNDJSON || c.media == mediaCSV {
		return streamList(w, c, records, keys)
	}
	if !keys.base64 && statsio.NeedsBase64(records) {
		keys.base64, head.KeyEncoding = true, "base64"
		if opening, err = openObject(head); err != nil {
			return err
		}
	}
	return writeStream(w, c.Request, http.StatusOK, "application/json", func(out *bufio.Writer) error {
		if err := writeAll(out, opening, []byte(`,"`+name+`":`)); err != nil {
			return err
		}
		if err := statsio.WriteJSON(out, records, keys.base64); err != nil {
			return err
		}
		return out.WriteByte('}')
	})
}

// configuration reads a version of an operator's configuration.
func (s *server) configuration(ctx context.Context, operator string, version int64) (configuration, error) {
	stored, err := s.store.Configuration(ctx, operator, version)
	if err != nil {
		return configuration{}, aboutOperator(operator, err)
	}
	return decodeConfiguration(stored.Config)
}

// getLayout is getRoutingTable under the schemes ring and ranges.
func (s *server) getLayout(w http.ResponseWriter, c *call, table store.Table) error {
	config, err := s.configuration(c.Context(), c.param("operator"), table.ConfigVersion)
	if err != nil {
		return err
	}
	read, err := readLayout(config, table.Entries)
	if err != nil {
		return err
	}
	if held, ok := read.(tokens); ok {
		return writeTable(w, c, s, table, "tokens", slices.Values(held.records()))
	}
	return writeTable(w, c, s, table, "owners", slices.Values(read.(owners).records()))
}

// readTable reads the version of the table that the query asks for.
func (s *server) readTable(c *call) (store.Table, error) {
	name := c.param("operator")
	text := c.query.Get("version")
	if text == "" {
		table, err := s.store.Table(c.Context(), name, nil)
		return table, aboutOperator(name, err)
	}
	version, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return store.Table{}, invalid().withParameter("version", outOfRange)
	}
	table, err := s.store.Table(c.Context(), name, &version)
	return table, aboutVersion(name, version, err)
}

func entriesOf(t store.Table) iter.Seq[statsio.Entry] {
	return func(yield func(statsio.Entry) bool) {
		for _, e := range t.Entries {
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
