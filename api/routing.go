package api

import (
	"fmt"
	"iter"
	"net/http"
	"strconv"

	"plannerd/api/wire"
	"plannerd/internal/statsio"
	"plannerd/planner"
	"plannerd/store"
)

// routingTable is a routing table without its entries, in the order of the contract.
type routingTable struct {
	Operator      string     `json:"operator"`
	Version       int64      `json:"version"`
	ConfigVersion int64      `json:"config_version"`
	Hash          hash       `json:"hash"`
	Instances     []instance `json:"instances"`
	Pending       *struct{}  `json:"pending"` // no table is rolled out beside another
	KeyEncoding   string     `json:"key_encoding,omitzero"`
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
	table, err := s.readTable(c)
	if err != nil {
		return err
	}
	w.Header().Set("Plannerd-Table-Version", strconv.FormatInt(table.Version, 10))
	keys, entries := askedKeys(c.query), entriesOf(table)
	if c.media == mediaNDJSON || c.media == mediaCSV {
		// A version never changes, nor does its text.
		if notModified(w, c.Request, fmt.Sprintf(`"%d-%s-%t"`, table.Version, c.media, keys.base64)) {
			return nil
		}
		return streamList(w, c, entries, keys)
	}
	stored, err := s.store.Configuration(c.Context(), name, table.ConfigVersion)
	if err != nil {
		return aboutOperator(name, err)
	}
	config, err := decodeConfiguration(stored.Config)
	if err != nil {
		return err
	}
	keys.base64 = keys.base64 || statsio.NeedsBase64(entries)
	body, err := openObject(routingTable{
		Operator: name, Version: table.Version, ConfigVersion: table.ConfigVersion,
		Hash: config.Hash, Instances: config.Instances, KeyEncoding: keys.member(),
	})
	if err != nil {
		return err
	}
	body = append(body, `,"entries":`...)
	body = append(statsio.AppendJSON(body, entries, keys.base64), '}')
	writeTagged(w, c.Request, "application/json", body)
	return nil
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
	if !found {
		if out.Instance, err = s.hashed(c, op, key); err != nil {
			return err
		}
		out.Source = wire.RouteSourceHash
	}
	return writeJSON(w, out)
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
