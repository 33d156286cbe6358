package api

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"plannerd/api/wire"
	"plannerd/internal/admission"
	"plannerd/internal/statsio"
	"plannerd/store"
)

// maxWait is how long a request may wait for a change.
const maxWait = time.Minute

// notAsked stands for a version that a request does not name.
const notAsked int64 = -1

// tableQuery is what a request asks of a routing table, in JSON.
type tableQuery struct {
	operator       string
	version, since int64 // or notAsked
	base64         bool
}

func readTableQuery(c *call) (q tableQuery, wait time.Duration, err error) {
	q = tableQuery{operator: c.param("operator"), version: notAsked, since: notAsked, base64: askedKeys(c.query).base64}
	bad := invalid()
	for name, v := range map[string]*int64{"version": &q.version, "since": &q.since} {
		if text := c.query.Get(name); text != "" && !parseScalar(text, v) {
			bad.atParameter(name, outOfRange)
		}
	}
	if wait, err = readWait(c.query); err != nil {
		bad.atParameter("wait", err.Error())
	}
	follows := c.query.Has("since") || c.query.Has("wait")
	switch {
	case q.version != notAsked && follows:
		bad.atParameter("version", "is one that never changes: not with since or wait")
	case c.query.Has("wait") && q.since == notAsked && c.Header.Get("If-None-Match") == "":
		bad.atParameter("wait", "is for what: give since, or If-None-Match")
	case follows && c.media != mediaJSON:
		return q, 0, &problem{status: http.StatusNotAcceptable, code: wire.CodeNotAcceptable,
			detail: "With since or wait this operation answers with application/json: curl -H 'Accept: application/json'."}
	}
	return q, wait, bad.orNil()
}

func readWait(query url.Values) (time.Duration, error) {
	text := query.Get("wait")
	if text == "" {
		return 0, nil
	}
	wait, err := time.ParseDuration(text)
	if err != nil || wait > maxWait {
		return 0, errors.New("must be at most 60s")
	}
	return wait, nil
}

// tableState is what tells whether a routing table is another one.
type tableState struct {
	version int64
	pending string // the plan; "": none
}

func stateOf(op store.Operator) tableState {
	s := tableState{version: op.TableVersion}
	if op.CurrentStatus == store.StatusApplying {
		s.pending = op.CurrentPlan
	}
	return s
}

// etag is that of the answer to q in this state, which is all that can change of it.
func (t tableState) etag(q tableQuery, full bool) string {
	return etagOf(fmt.Appendf(nil, "table %d of %s: version %d, pending %q, base64 %t, since %t, full %t",
		listRevision, q.operator, t.version, t.pending, q.base64, q.since != notAsked, full))
}

// news tells whether there is anything that the client does not have: what it has
// is what If-None-Match says, else since.
func (t tableState) news(r *http.Request, q tableQuery) bool {
	if r.Header.Get("If-None-Match") != "" {
		_, found := has(r, t.etag(q, false), t.etag(q, true))
		return !found
	}
	return t.version != q.since || t.pending != ""
}

func (s *server) getRoutingTable(w http.ResponseWriter, c *call) error {
	q, wait, err := readTableQuery(c)
	switch {
	case err != nil:
		return err
	case c.media != mediaJSON:
		return s.listRoutingTable(w, c, q)
	case wait > 0:
		return s.awaitTable(w, c, q, wait)
	}
	op, err := s.heldBy(c.Context(), q.operator)
	if err != nil {
		return err
	}
	if c.Header.Get("If-None-Match") != "" && q.version == notAsked {
		if now := stateOf(op); !now.news(c.Request, q) {
			return unchanged(w, c, now.etag(q, q.since == notAsked))
		}
	}
	a, err := s.tableAnswer(c.Context(), c.memory, q)
	if err != nil {
		return err
	}
	return a.write(w, c)
}

// heldBy reads an operator whose routing table the service holds.
func (s *server) heldBy(ctx context.Context, name string) (store.Operator, error) {
	op, err := s.store.Operator(ctx, name)
	if err != nil {
		return op, aboutOperator(name, err)
	}
	return op, refuseNotHeld(op)
}

// unchanged answers that the client has what there is.
func unchanged(w http.ResponseWriter, c *call, etag string) error {
	if !notModified(w, c.Request, etag) { // it knows that by since alone
		w.WriteHeader(http.StatusNotModified)
	}
	return nil
}

// awaitTable answers as soon as there is news.
func (s *server) awaitTable(w http.ResponseWriter, c *call, q tableQuery, wait time.Duration) error {
	// The answer comes late, and not because the client is slow.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(wait + s.limits.Pace.WriteTimeout))
	sub, err := s.hub.subscribe(c.Context(), q.operator)
	if err != nil {
		return err
	}
	defer sub.leave()
	changed, _ := sub.mark()
	op, err := s.heldBy(c.Context(), q.operator)
	if err != nil {
		return err
	}
	now := stateOf(op)
	if now.news(c.Request, q) {
		a, err := s.tableAnswer(c.Context(), c.memory, q)
		if err != nil {
			return err
		}
		return a.write(w, c)
	}
	late := time.NewTimer(wait)
	defer late.Stop()
	for {
		select {
		case <-changed:
		case <-c.Context().Done():
			return c.Context().Err()
		case <-late.C:
			return unchanged(w, c, now.etag(q, q.since == notAsked))
		case <-s.draining:
			return unchanged(w, c, now.etag(q, q.since == notAsked))
		}
		var generation uint64
		changed, generation = sub.mark()
		a, release, err := sub.view(c.Context(), viewKey{q, generation}, s.memory, func(ctx context.Context, memory *admission.Lease) (*tableAnswer, error) {
			return s.tableAnswer(ctx, memory, q)
		})
		if err != nil {
			return err
		}
		if a.news(c.Request, q) {
			defer release()
			return a.write(w, c)
		}
		release()
	}
}

// tableHead is an answer about a routing table without its lists, in the order of
// the contract.
type tableHead struct {
	Operator      string      `json:"operator"`
	Scheme        wire.Scheme `json:"scheme"`
	FromVersion   *int64      `json:"from_version,omitzero"`
	Version       int64       `json:"version"`
	ConfigVersion int64       `json:"config_version"`
	Full          *bool       `json:"full,omitzero"`
	Hash          *hash       `json:"hash,omitzero"` // nil under the schemes ring and ranges
	Instances     []instance  `json:"instances,omitzero"`
	KeyEncoding   string      `json:"key_encoding,omitzero"`
}

// tableAnswer is an answer about a routing table that is ready to be written.
type tableAnswer struct {
	tableState
	etag  string
	head  []byte // an object that is open
	parts tableParts
	// pending is what opens the member, nil if there is nothing pending.
	pending      []byte
	pendingParts tableParts
	keys         keyCoder
}

// tableParts are the entries of a table, or what changes of them.
type tableParts struct {
	name    string         // of records; "": there are changes
	records migrationList  // of the whole
	changes []store.Change // in place of it
}

func (p tableParts) see(keys *keyCoder) {
	lists{changes: p.changes, migrations: p.records}.see(keys)
}

// write writes the members.
func (p tableParts) write(out *bufio.Writer, keys keyCoder) error {
	if p.name == "" {
		return writeEntries(out, p.changes, keys)
	}
	if _, err := out.WriteString(`,"` + p.name + `":`); err != nil {
		return err
	}
	return p.records.writeJSON(out, keys.base64)
}

// tableAnswer reads what q asks for, into memory that the lease holds.
func (s *server) tableAnswer(ctx context.Context, memory *admission.Lease, q tableQuery) (*tableAnswer, error) {
	op, err := s.heldBy(ctx, q.operator)
	if err != nil {
		return nil, err
	}
	if q.since != op.TableVersion {
		if err := holdTable(memory, op); err != nil {
			return nil, err
		}
	}
	feed, err := s.readFeed(ctx, q)
	if err != nil {
		return nil, err
	}
	length := len(feed.Entries) + len(feed.Changes)
	if feed.Pending != nil {
		length += len(feed.Pending.Changes)
	}
	if err := memory.Settle(int64(length) * entryBytes); err != nil {
		return nil, err
	}
	return s.render(ctx, q, feed)
}

// readFeed reads the table that q asks for, or its changes where they tell enough.
func (s *server) readFeed(ctx context.Context, q tableQuery) (store.Feed, error) {
	if q.version != notAsked {
		t, err := s.store.Table(ctx, q.operator, &q.version)
		return store.Feed{Version: t.Version, ConfigVersion: t.ConfigVersion, Full: true, Entries: t.Entries}, aboutVersion(q.operator, q.version, err)
	}
	feed, err := s.store.TableChanges(ctx, q.operator, q.since)
	if err != nil || feed.Full {
		return feed, aboutOperator(q.operator, err)
	}
	enough, err := s.changesSuffice(ctx, q.operator, feed)
	if err != nil || enough {
		return feed, err
	}
	feed, err = s.store.TableChanges(ctx, q.operator, notAsked)
	return feed, aboutOperator(q.operator, err)
}

// changesSuffice tells whether keys without an entry are where they were.
func (s *server) changesSuffice(ctx context.Context, operator string, f store.Feed) (bool, error) {
	now, err := s.configuration(ctx, operator, f.ConfigVersion)
	if err != nil || now.Scheme != wire.SchemeTable || f.FromConfigVersion == f.ConfigVersion {
		return now.Scheme == wire.SchemeTable, err
	}
	then, err := s.configuration(ctx, operator, f.FromConfigVersion)
	return samePlacement(then, now), err
}

// render makes the answer of what was read.
func (s *server) render(ctx context.Context, q tableQuery, f store.Feed) (*tableAnswer, error) {
	config, err := s.configuration(ctx, q.operator, f.ConfigVersion)
	if err != nil {
		return nil, err
	}
	a := &tableAnswer{tableState: tableState{version: f.Version}, keys: keyCoder{base64: q.base64}, parts: tableParts{changes: f.Changes}}
	head := tableHead{Operator: q.operator, Scheme: config.Scheme, Version: f.Version, ConfigVersion: f.ConfigVersion}
	if q.since != notAsked {
		head.FromVersion, head.Full = &q.since, &f.Full
	}
	if f.Full {
		head.Instances = config.Instances
		if config.Scheme == wire.SchemeTable {
			head.Hash = &config.Hash
		}
		if a.parts, err = wholeTable(config, f.Entries); err != nil {
			return nil, err
		}
	}
	a.parts.see(&a.keys)
	if f.Pending != nil {
		if err := s.renderPending(ctx, a, q, f); err != nil {
			return nil, err
		}
	}
	a.etag = a.tableState.etag(q, f.Full)
	head.KeyEncoding = a.keys.member()
	a.head, err = openObject(head)
	return a, err
}

// renderPending adds what is pending. It stands as what changes of the entries, and
// under the schemes ring and ranges as all that there will be.
func (s *server) renderPending(ctx context.Context, a *tableAnswer, q tableQuery, f store.Feed) (err error) {
	config, err := s.configuration(ctx, q.operator, f.Pending.ConfigVersion)
	if err != nil {
		return err
	}
	a.tableState.pending = f.Pending.Plan
	if a.pending, err = openObject(struct {
		Plan          string `json:"plan"`
		ConfigVersion int64  `json:"config_version"`
	}{f.Pending.Plan, f.Pending.ConfigVersion}); err != nil {
		return err
	}
	a.pendingParts = tableParts{changes: f.Pending.Changes}
	if config.Scheme != wire.SchemeTable {
		if a.pendingParts, err = wholeTable(config, entriesAfter(f.Entries, f.Pending.Changes)); err != nil {
			return err
		}
	}
	a.pendingParts.see(&a.keys)
	return nil
}

// entriesAfter returns entries after changes, both in ascending bytes of their keys.
func entriesAfter(entries []store.Entry, changes []store.Change) []store.Entry {
	out := make([]store.Entry, 0, len(entries)+len(changes))
	for _, c := range changes {
		n := 0
		for n < len(entries) && string(entries[n].Key) < string(c.Key) {
			n++
		}
		out = append(out, entries[:n]...)
		if entries = entries[n:]; c.Old != store.NoInstance {
			entries = entries[1:]
		}
		if c.New != store.NoInstance {
			out = append(out, store.Entry{Key: c.Key, Instance: c.New})
		}
	}
	return append(out, entries...)
}

// wholeTable is what there is instead of entries under each scheme.
func wholeTable(config configuration, entries []store.Entry) (tableParts, error) {
	if config.Scheme == wire.SchemeTable {
		return tableParts{name: "entries", records: migrations[statsio.Entry](entriesOf(entries))}, nil
	}
	read, err := readLayout(config, entries)
	if err != nil {
		return tableParts{}, err
	}
	if held, ok := read.(tokens); ok {
		return tableParts{name: "tokens", records: listOf(held.records())}, nil
	}
	return tableParts{name: "owners", records: listOf(read.(owners).records())}, nil
}

func (a *tableAnswer) write(w http.ResponseWriter, c *call) error {
	w.Header().Set("Plannerd-Table-Version", strconv.FormatInt(a.version, 10))
	if notModified(w, c.Request, a.etag) {
		return nil
	}
	return writeStream(w, c.Request, http.StatusOK, mediaJSON, func(out *bufio.Writer) error {
		if err := writeAll(out, a.head); err != nil {
			return err
		}
		if err := a.parts.write(out, a.keys); err != nil {
			return err
		}
		if a.pending == nil {
			return writeAll(out, []byte(`,"pending":null}`))
		}
		if err := writeAll(out, []byte(`,"pending":`), a.pending); err != nil {
			return err
		}
		if err := a.pendingParts.write(out, a.keys); err != nil {
			return err
		}
		return writeAll(out, []byte("}}"))
	})
}

// listRoutingTable answers with the entries alone, as NDJSON or CSV.
func (s *server) listRoutingTable(w http.ResponseWriter, c *call, q tableQuery) error {
	op, err := s.heldBy(c.Context(), q.operator)
	if err != nil {
		return err
	}
	if err := holdTable(c.memory, op); err != nil {
		return err
	}
	version := &q.version
	if q.version == notAsked {
		version = nil
	}
	table, err := s.store.Table(c.Context(), q.operator, version)
	if err != nil {
		return aboutVersion(q.operator, q.version, err)
	}
	w.Header().Set("Plannerd-Table-Version", strconv.FormatInt(table.Version, 10))
	config, err := s.configuration(c.Context(), q.operator, table.ConfigVersion)
	if err != nil {
		return err
	}
	if config.Scheme == wire.SchemeTable {
		return writeTable(w, c, q, table.Version, entriesOf(table.Entries))
	}
	read, err := readLayout(config, table.Entries)
	if err != nil {
		return err
	}
	if held, ok := read.(tokens); ok {
		return writeTable(w, c, q, table.Version, slices.Values(held.records()))
	}
	return writeTable(w, c, q, table.Version, slices.Values(read.(owners).records()))
}

// writeTable answers with the records of a version, which never change.
func writeTable[R statsio.Record](w http.ResponseWriter, c *call, q tableQuery, version int64, records iter.Seq[R]) error {
	etag := etagOf(fmt.Appendf(nil, "table %d of %s as %s: version %d, base64 %t", listRevision, q.operator, c.media, version, q.base64))
	if notModified(w, c.Request, etag) {
		return nil
	}
	return streamList(w, c, records, keyCoder{base64: q.base64})
}
