package main

import (
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/klauspost/compress/zstd"

	"plannerd/internal/statsio"
	"plannerd/planner"
)

const (
	mediaJSON   = "application/json"
	mediaNDJSON = "application/x-ndjson"
	mediaCSV    = "text/csv"
	mediaText   = "text/plain"
	mediaArrow  = "application/vnd.apache.arrow.stream"
)

// fill gives a request a body of the media type, and the parameters that belong
// to it in the query.
func (m *maker) fill(r *request, media string) {
	r.set("Content-Type", media)
	switch media {
	case mediaJSON:
		tree := m.tree(r.op)
		for m.chance(25) {
			tree = m.mutate(tree)
		}
		r.body = marshal(tree)
	default:
		if _, ok := r.op.RequestBody.Value.Content[mediaJSON]; ok && m.chance(80) {
			m.intoQuery(r, m.tree(r.op))
		}
		r.body = m.rows(r, media)
	}
	if m.chance(8) {
		r.body = m.breakBytes(r.body)
	}
	m.pack(r)
}

// tree makes a JSON body, from an example or from the schema.
func (m *maker) tree(o *operation) any {
	content := o.RequestBody.Value.Content[mediaJSON]
	var tree any
	if names := sorted(content.Examples); len(names) > 0 && m.chance(65) {
		tree = clone(content.Examples[one(m, names)].Value.Value)
	} else {
		tree = m.make(content.Schema.Value, "", 0)
	}
	object, ok := tree.(map[string]any)
	if !ok {
		return tree
	}
	if _, has := object["interval"]; has && m.chance(85) {
		object["interval"] = float64(m.memory.nextInterval(m.Rand))
	}
	if _, has := object["keys"]; has && m.chance(50) {
		object["keys"] = m.statistics()
	}
	if hash, has := object["hash"].(map[string]any); has && m.chance(20) {
		hash["function"] = "reported"
	}
	return object
}

// statistics makes rows that most servers of two or more instances can plan on.
func (m *maker) statistics() []any {
	state, instance, hash := m.chance(70), m.chance(50), m.chance(30)
	rows := make([]any, m.IntN(12))
	for i := range rows {
		row := map[string]any{"key": fmt.Sprintf("user:%d", i), "cost": float64(m.IntN(100)) / 4}
		if state {
			row["state"] = float64(m.IntN(100))
		}
		if instance {
			row["instance"] = float64(m.IntN(2))
		}
		if hash {
			row["hash_instance"] = float64(m.IntN(2))
		}
		rows[i] = row
	}
	return rows
}

// intoQuery puts the scalars of a JSON body where the other formats have them.
func (m *maker) intoQuery(r *request, tree any) {
	object, ok := tree.(map[string]any)
	if !ok {
		return
	}
	for _, name := range sorted(object) {
		inner, nested := object[name].(map[string]any)
		switch p := r.op.parameter("query", name); {
		case p != nil && !nested:
			r.ask(name, plain(object[name]))
		case nested:
			m.intoQuery(r, inner)
		}
	}
}

// plain writes a value as a parameter.
func plain(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []any:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = plain(v[i])
		}
		return strings.Join(parts, ",")
	default:
		return string(marshal(v))
	}
}

// rows makes a body of a format of rows.
func (m *maker) rows(r *request, media string) []byte {
	content := r.op.RequestBody.Value.Content[media]
	if _, statistics := r.op.RequestBody.Value.Content[mediaJSON]; !statistics && m.chance(60) {
		if rows := m.resolution(r); rows != nil {
			return m.write(rows, media)
		}
	}
	if names := sorted(content.Examples); len(names) > 0 && m.chance(50) {
		if text, ok := content.Examples[one(m, names)].Value.Value.(string); ok {
			return []byte(text)
		}
	}
	rows := m.statistics()
	if m.chance(25) {
		rows = append(rows, m.make(m.contract.row, "", 0))
	}
	for m.chance(25) {
		if mutated, ok := m.mutate(rows).([]any); ok {
			rows = mutated
		}
	}
	return m.write(rows, media)
}

// resolution makes rows that resolve a plan of classes that was told, or nil.
func (m *maker) resolution(r *request) (rows []any) {
	p, ok := m.memory.classPlan(m.Rand)
	if !ok {
		return nil
	}
	r.place("id", p.ID)
	for i, move := range p.Migrations {
		class, ok := move.([]any)
		if !ok || len(class) != 6 {
			continue
		}
		count, _ := class[5].(float64)
		for j := range int(min(count, 200)) {
			rows = append(rows, map[string]any{"key": fmt.Sprintf("class:%d:%d", i, j), "to": class[0], "from": class[1], "hash_instance": class[2]})
		}
	}
	return rows
}

// write writes rows in a format.
func (m *maker) write(rows []any, media string) []byte {
	switch media {
	case mediaNDJSON:
		var b bytes.Buffer
		for _, row := range rows {
			b.Write(append(marshal(row), '\n'))
		}
		return b.Bytes()
	case mediaCSV:
		return writeCSV(rows)
	case mediaArrow:
		return m.arrow()
	default:
		var b strings.Builder
		for range m.IntN(60) {
			b.WriteString(one(m, []string{"a", "b", "c", "user:1", "é", "🦀"}) + one(m, []string{"\n", "\n", " "}))
		}
		return []byte(b.String())
	}
}

// writeCSV writes rows under all the names that they have.
func writeCSV(rows []any) []byte {
	names := map[string]bool{}
	for _, row := range rows {
		object, _ := row.(map[string]any)
		for name := range object {
			names[name] = true
		}
	}
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	header := sorted(names)
	err := w.Write(header)
	for _, row := range rows {
		object, _ := row.(map[string]any)
		cells := make([]string, len(header))
		for i, name := range header {
			if v, has := object[name]; has {
				cells[i] = plain(v)
			}
		}
		err = errors.Join(err, w.Write(cells))
	}
	w.Flush()
	if err = errors.Join(err, w.Error()); err != nil {
		panic(err) // a buffer takes everything
	}
	return b.Bytes()
}

// arrow writes rows of its own: what its types do not hold is none of theirs.
func (m *maker) arrow() []byte {
	n := 1 + m.IntN(20)
	s := &planner.Statistics{Keys: planner.NewKeys(n)}
	state, instance, hash := m.chance(70), m.chance(50), m.chance(30)
	for i := range n {
		s.Keys.Append([]byte(fmt.Sprintf("user:%d", i)))
		s.Cost = append(s.Cost, m.Float64()*9)
		if state {
			s.State = append(s.State, float64(m.IntN(100)))
		}
		if instance {
			s.Instance = append(s.Instance, int32(m.IntN(2)))
		}
		if hash {
			s.HashInstance = append(s.HashInstance, int32(m.IntN(2)))
		}
	}
	var b bytes.Buffer
	w := statsio.NewArrowWriter(&b)
	if err := errors.Join(w.Write(-1, s), w.Close()); err != nil {
		panic(err) // a buffer takes everything
	}
	return b.Bytes()
}

// pack compresses the body at times, and at times only says so.
func (m *maker) pack(r *request) {
	if !m.chance(12) {
		return
	}
	encoding := one(m, []string{"gzip", "gzip", "zstd", "zstd", "identity", "br", "gzip, zstd", "", "x"})
	r.set("Content-Encoding", encoding)
	if m.chance(12) {
		return // it lies
	}
	switch encoding {
	case "gzip":
		r.body = zip(r.body)
	case "zstd":
		r.body = zstdEncoder.EncodeAll(r.body, nil)
	}
	if m.chance(15) {
		r.body = m.breakBytes(r.body)
	}
}

// zstdEncoder has no state but its options.
var zstdEncoder, _ = zstd.NewWriter(nil) // it refuses options only

func zip(body []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write(body)
	if err = errors.Join(err, w.Close()); err != nil {
		panic(err) // a buffer takes everything
	}
	return b.Bytes()
}

// object reads a JSON object.
func object(body []byte) (out map[string]any, ok bool) {
	err := json.Unmarshal(body, &out)
	return out, err == nil && out != nil
}
