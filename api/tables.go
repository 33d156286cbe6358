package api

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"plannerd/internal/operator"
	"plannerd/internal/parameters"
	"plannerd/internal/service"
	"plannerd/internal/service/feed"
	"plannerd/internal/web/httpkit"
	"plannerd/planner"
	"plannerd/sdk/go/wire"
)

// tables answers what is asked about committed tables, and waits for others.
type tables struct{ *shared }

// maxWait is how long a request may wait for a change.
const maxWait = time.Minute

// tableRequest is what a request asks of a committed table.
type tableRequest struct {
	feed.TableQuery
	keys keyCoder
	wait time.Duration
}

// waitOf is how long a request waits for something new.
func waitOf(c *call) (wait time.Duration, err error) {
	text := c.Query.Get("wait")
	if text == "" {
		return 0, nil
	}
	if wait, err = time.ParseDuration(text); err != nil || wait > maxWait {
		return 0, httpkit.Invalid().WithParameter("wait", "must be at most 60s")
	}
	return wait, nil
}

func readTableRequest(c *call) (q tableRequest, err error) {
	q.TableQuery, q.keys = feed.TableQuery{Version: feed.NotAsked, Since: feed.NotAsked}, c.keys()
	c.Decode(&q.TableQuery)
	q.Origin = cmp.Or(q.Origin, originOf(c.Request))
	bad := httpkit.Invalid()
	if q.wait, err = waitOf(c); err != nil {
		bad.AtParameter("wait", "must be at most 60s")
	}
	follows := c.Query.Has("since") || c.Query.Has("wait") || q.NextPlan
	switch {
	case q.Version != feed.NotAsked && follows:
		bad.AtParameter("version", "is one that never changes: not with since, wait or next_plan")
	case c.Query.Has("wait") && q.Since == feed.NotAsked && c.Header.Get("If-None-Match") == "":
		bad.AtParameter("wait", "is for what: give since, or If-None-Match")
	case follows && c.media != mediaJSON:
		return q, newProblem(http.StatusNotAcceptable, wire.CodeNotAcceptable,
			"With since, wait or next_plan this operation answers with application/json: curl -H 'Accept: application/json'.")
	}
	return q, bad.OrNil()
}

// etag is that of the answer in a state, which is all that can change of it. It begins with
// the origin of the version: by that a client says which version it means, as its number may
// have been given twice.
func (q tableRequest) etag(t feed.TableState, full bool) string {
	of := fmt.Appendf(nil, "table %d of %s: version %d, pending %q %s %d, base64 %t, since %t, full %t",
		listRevision, q.Operator, t.Version, t.Pending, t.Phase, t.ExecutorEpoch,
		q.keys.base64, q.Since != feed.NotAsked, full)
	if q.NextPlan {
		of = fmt.Appendf(of, ", next %q %d", t.Next, t.StartsAt.UnixMicro())
	}
	return `"` + t.Origin + "-" + httpkit.ETag(of)[1:]
}

// originOf is the origin of the table that the client has, by its If-None-Match; "": it does
// not say.
func originOf(r *http.Request) string {
	origin, _, found := strings.Cut(strings.Trim(r.Header.Get("If-None-Match"), `W/"`), "-")
	if !found || len(origin) != feed.OriginDigits {
		return ""
	}
	return origin
}

// hasChanges tells whether there is anything that the client does not have: what it has
// is what If-None-Match says, else since and origin.
func (q tableRequest) hasChanges(r *http.Request) func(feed.TableState) bool {
	return func(t feed.TableState) bool {
		if r.Header.Get("If-None-Match") != "" {
			_, found := httpkit.IfNoneMatch(r, q.etag(t, false), q.etag(t, true))
			return !found
		}
		return t.Version != q.Since || q.Origin != "" && q.Origin != t.Origin || t.Pending != "" || t.Next != ""
	}
}

// unchanged answers that the client has what there is.
func (q tableRequest) unchanged(w http.ResponseWriter, c *call, t feed.TableState) error {
	if !httpkit.NotModified(w, c.Request, q.etag(t, q.Since == feed.NotAsked)) { // it knows that by since alone
		w.WriteHeader(http.StatusNotModified)
	}
	return nil
}

func (s tables) get(w http.ResponseWriter, c *call) error {
	q, err := readTableRequest(c)
	switch {
	case err != nil:
		return err
	case c.media != mediaJSON:
		return s.list(w, c, q)
	case q.wait > 0:
		return s.follow(w, c, q)
	}
	if q.Version != feed.NotAsked {
		view, err := s.service.Table(c.Context(), q.TableQuery, c.memory)
		if err != nil {
			return err
		}
		return q.write(w, c, view, writeOnce)
	}
	now, err := s.service.TableState(c.Context(), q.TableQuery)
	if err != nil {
		return err
	}
	if c.Header.Get("If-None-Match") != "" && !q.hasChanges(c.Request)(now) {
		return q.unchanged(w, c, now)
	}
	return s.service.Current(c.Context(), q.TableQuery, now,
		func(view *feed.TableView) error { return q.write(w, c, view, q.writeShort) })
}

// follow answers as soon as there are changes.
func (s tables) follow(w http.ResponseWriter, c *call, q tableRequest) error {
	// The answer comes late, and not because the client is slow.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(q.wait + s.limits.Pace.WriteTimeout))
	ctx, done := s.access.whileKnown(c.Request)
	defer done()
	now, answered, err := s.service.Follow(ctx, q.TableQuery, q.wait, q.hasChanges(c.Request),
		func(view *feed.TableView) error { return q.write(w, c, view, q.writeShared) })
	switch {
	case answered:
		return err
	case err != nil:
		return cmp.Or(unknownSince(ctx), err)
	}
	return q.unchanged(w, c, now)
}

// tableHead is an answer about a committed table without its lists, in the order of the
// contract.
type tableHead struct {
	Operator      string              `json:"operator"`
	Scheme        operator.SchemeName `json:"scheme"`
	FromVersion   *int64              `json:"from_version,omitzero"`
	Version       int64               `json:"version"`
	Origin        string              `json:"origin"`
	ConfigVersion int64               `json:"config_version"`
	Full          *bool               `json:"full,omitzero"`
	Hash          *operator.Hash      `json:"hash,omitzero"` // nil where there is no routing table
	Placement     *operator.Placement `json:"placement,omitzero"`
	Routing       parameters.Routing  `json:"routing,omitzero"`
	Instances     []operator.Instance `json:"instances,omitzero"`
	Choices       int                 `json:"choices,omitzero"`
	Phase         string              `json:"phase,omitzero"`
	KeyEncoding   string              `json:"key_encoding,omitzero"`
}

// pendingHead is what stands of a plan that is being carried out before its lists.
type pendingHead struct {
	Plan          string              `json:"plan"`
	Batch         int64               `json:"batch"`
	Version       int64               `json:"version"`
	ConfigVersion int64               `json:"config_version"`
	Phase         string              `json:"phase"`
	Executor      string              `json:"executor"`
	ExecutorEpoch int64               `json:"executor_epoch"`
	Routers       map[string]int64    `json:"routers"`
	Hash          *operator.Hash      `json:"hash,omitzero"` // nil where there is no routing table
	Placement     *operator.Placement `json:"placement,omitzero"`
	Routing       parameters.Routing  `json:"routing,omitzero"`
	Instances     []operator.Instance `json:"instances"`
	Choices       int                 `json:"choices,omitzero"`
	Awaits        []int32             `json:"awaits"`
}

func newPendingHead(version int64, t *feed.PendingTable) pendingHead {
	out := pendingHead{
		Plan: t.Plan.ID, Batch: t.Plan.BatchesDone + 1, Version: version, ConfigVersion: t.Plan.ConfigVersion,
		Phase:    "handing_over",
		Executor: t.Plan.Executor.Name, ExecutorEpoch: t.Plan.Executor.Epoch, Routers: t.Plan.Routers,
		Hash: t.Hash, Placement: t.Placement, Routing: t.Routing, Instances: t.Instances, Choices: t.Choices,
		Awaits: append([]int32{}, t.Plan.Awaited...),
	}
	if t.Plan.Status == service.Status(wire.PlanStatusAborting) {
		out.Phase = "aborting"
	}
	return out
}

// writeTable answers with a view that encode writes.
type writeTable func(w http.ResponseWriter, c *call, v *feed.TableView, encode func(*bufio.Writer) error) error

// writeOnce sends a view while it is written.
func writeOnce(w http.ResponseWriter, c *call, _ *feed.TableView, encode func(*bufio.Writer) error) error {
	return httpkit.WriteStream(w, c.Request, http.StatusOK, mediaJSON, encode)
}

// shortText is the length up to which a text is written before it is sent, so that those who read
// the table at the same time share it. Of longer ones each answer is written while it is sent.
const shortText = 2 << 20

// writeShort sends a short text that those who share the view share, and a long one as it is written.
func (q tableRequest) writeShort(
	w http.ResponseWriter, c *call, v *feed.TableView, encode func(*bufio.Writer) error,
) error {
	err := q.writeText(w, v, encode, shortText)
	if errors.Is(err, errLongText) {
		return writeOnce(w, c, v, encode)
	}
	return err
}

// writeShared sends what was written once for all who share the view.
func (q tableRequest) writeShared(
	w http.ResponseWriter, _ *call, v *feed.TableView, encode func(*bufio.Writer) error,
) error {
	return q.writeText(w, v, encode, math.MaxInt)
}

// writeText sends a text of at most so many bytes, which was written once.
func (q tableRequest) writeText(
	w http.ResponseWriter, v *feed.TableView, encode func(*bufio.Writer) error, most int,
) error {
	text, err := v.Text(q.keys.base64, func() ([]byte, error) {
		text := limitedText{most: most}
		out := bufio.NewWriter(&text)
		err := errors.Join(encode(out), out.WriteByte('\n'), out.Flush())
		return text.Bytes(), err
	})
	if err != nil {
		return err
	}
	httpkit.WriteText(w, http.StatusOK, mediaJSON, text)
	return nil
}

var errLongText = errors.New("the text is too long to be shared")

// limitedText is a text that does not grow beyond a length.
type limitedText struct {
	bytes.Buffer
	most int
}

// Write adds to the text.
func (t *limitedText) Write(b []byte) (int, error) {
	if t.Len()+len(b) > t.most {
		return 0, errLongText
	}
	return t.Buffer.Write(b)
}

// write answers with what there is to say about a table.
func (q tableRequest) write(w http.ResponseWriter, c *call, v *feed.TableView, send writeTable) error {
	keys := keyCoder{base64: q.keys.base64 || v.Base64}
	head := tableHead{
		Operator: q.Operator, Scheme: v.Scheme, Version: v.Version, Origin: v.Origin,
		ConfigVersion: v.ConfigVersion, Hash: v.Hash, Placement: v.Placement,
		Routing: v.Routing, Instances: v.Instances, Choices: v.Choices, Phase: string(v.Serves),
		KeyEncoding: keys.member(),
	}
	if q.Since != feed.NotAsked {
		head.FromVersion, head.Full = &q.Since, &v.Full
	}
	opened, err := openObject(head)
	if err != nil {
		return err
	}
	w.Header().Set("Plannerd-Table-Version", strconv.FormatInt(v.Version, 10))
	if httpkit.NotModified(w, c.Request, q.etag(v.TableState, v.Full)) {
		return nil
	}
	next := ""
	if q.NextPlan {
		next = `,"next_plan":null,"starts_at":` + timeOrNull(v.StartsAt)
		if v.Next != "" {
			next = fmt.Sprintf(`,"next_plan":%q,"starts_at":null`, v.Next)
		}
	}
	end := `,"pending":null` + next + `}`
	var pending []byte
	if v.NextPlan != nil {
		if pending, err = openObject(newPendingHead(v.Version+1, v.NextPlan)); err != nil {
			return err
		}
		end = "}" + next + "}"
	}
	return send(w, c, v, func(out *bufio.Writer) error {
		a := answer{out, keys}
		a.text(opened)
		a.lists(v.Parts...)
		if pending != nil {
			a.text([]byte(`,"pending":`))
			a.text(pending)
			a.lists(v.NextPlan.Parts...)
		}
		return a.end(end)
	})
}

// list answers with the records of a version alone, as NDJSON or CSV. They never change.
func (s tables) list(w http.ResponseWriter, c *call, q tableRequest) error {
	v, err := s.service.Table(c.Context(), q.TableQuery, c.memory)
	if err != nil {
		return err
	}
	w.Header().Set("Plannerd-Table-Version", strconv.FormatInt(v.Version, 10))
	etag := httpkit.ETag(fmt.Appendf(nil, "table %d of %s as %s: version %d of %s, base64 %t",
		listRevision, q.Operator, c.media, v.Version, v.Origin, q.keys.base64))
	if httpkit.NotModified(w, c.Request, etag) {
		return nil
	}
	names, err := s.namesInCSV(c, q.Operator, v.ConfigVersion)
	if err != nil {
		return err
	}
	return streamList(w, c, v.Parts[0].List, q.keys, names)
}

// route answers where a key goes.
func (s tables) route(w http.ResponseWriter, c *call) error {
	var of struct {
		Operator string
		Instance *int32
	}
	if err := s.namesOf(c.Context(), c.param("operator")).parameters(c); err != nil {
		return err
	}
	c.Decode(&of)
	keys, name := c.keys(), of.Operator
	key, err := c.key("key")
	if err != nil {
		return err
	}
	if len(key) == 0 || len(key) > planner.MaxKeyBytes {
		return httpkit.Invalid().WithParameter("key", fmt.Sprintf("must be 1 to %d bytes long", planner.MaxKeyBytes))
	}
	r, err := s.service.Route(c.Context(), name, key, of.Instance)
	if input := parameters.InputError(err); input != nil && input.Field == "instance" {
		return aboutParameter(err, "instance")
	}
	if err != nil {
		return aboutParameter(err, "key")
	}
	out := wire.Route{
		Operator: name, Key: keys.text(key), Instance: r.Instance, Source: wire.RouteSource(r.Source), Version: r.Version,
	}
	if r.Parts != nil {
		out.Parts = new(partsOut(r.Parts))
		if r.Routing != "" {
			out.Routing = new(wire.PartsRouting(r.Routing))
		}
	}
	if r.RoutedKey != nil {
		out.RoutedKey = new(keys.text(r.RoutedKey))
	}
	if r.Candidates != nil {
		out.Candidates = &r.Candidates
	}
	if r.Rule != "" {
		out.Rule = &r.Rule
	}
	if r.Misplaced {
		out.Misplaced = &r.Misplaced
	}
	if keys.base64 {
		encoding := wire.AnswerKeyEncodingBase64
		out.KeyEncoding = &encoding
	}
	return httpkit.WriteJSON(w, http.StatusOK, out)
}
