package route

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the vectors of sdk/vectors anew")

// TestVectors holds the files of sdk/vectors to what this package does. Other languages
// test their hash functions, rings and tables against the same files.
func TestVectors(t *testing.T) {
	for name, content := range map[string]any{
		"candidates.json": candidateVectors(),
		"functions.json":  functionVectors(t),
		"rings.json":      ringVectors(),
		"tables.json":     tableVectors(t),
	} {
		var text bytes.Buffer
		e := json.NewEncoder(&text)
		e.SetEscapeHTML(false)
		e.SetIndent("", " ")
		if err := e.Encode(content); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("..", "..", "vectors", name)
		if *update {
			if err := os.WriteFile(path, text.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if kept, err := os.ReadFile(path); err != nil || !bytes.Equal(kept, text.Bytes()) {
			t.Errorf("%s is not what the package does now, %v: if that is right, go test ./route -run Vectors -update",
				path, err)
		}
	}
}

// awkwardKeys are keys that implementations like to differ on.
func awkwardKeys() [][]byte {
	texts := []string{
		"", "0", "-1", "7", "42", "-2089875627", "2147483647", "-2147483648", "2147483648", "-2147483649",
		"9223372036854775807", "-9223372036854775808", "9223372036854775808", "+1", "01", "-0", " 1", "1 ",
		"a", "ab", "abc", "abcd", "abcde", "abcdefg", "abcdefgh", "abcdefghijklmno", "abcdefghijklmnop",
		"abcdefghijklmnopq", "user:1", "polygenelubricants", "straße", "café", "cafe\u0301", "Ελλάς", "日本語",
		"😀", "a😀b", "😀😀😀😀", "\u00ff", "\u0800", "\uffff", "\U00010000", "\U0010ffff", "\ufeffbom",
		"tab\tand\nline", "\x00", "a\x00b", "token-0-0", "\u2028", `"quoted\"`,
		"{a}", "x{a}y", "x{}y", "{}{a}", "{{a}", "a}b{c", "{é}1", "a/b", "/a", "a/b/c", "a//b", "a::b", "a::b::c",
		"a:::b::::c",
		strings.Repeat("x", 31), strings.Repeat("x", 32), strings.Repeat("x", 33),
		strings.Repeat("long key ", 100), strings.Repeat("é", MaxKeyBytes/2),
	}
	var keys [][]byte
	for _, text := range texts {
		keys = append(keys, []byte(text))
	}
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	// Of bytes that are no UTF-8: alone, cut off, overlong, a surrogate, beyond the last code point.
	keys = append(keys, all, all[128:], []byte{0xff}, []byte{0x80}, []byte("abcd\xc3"), []byte{0xe2, 0x82},
		[]byte{0xc0, 0x80}, []byte{0xed, 0xa0, 0x80}, []byte{0xf4, 0x90, 0x80, 0x80}, []byte{0xf0, 0x9f, 0x98})
	for n := range 17 { // each length of the last block, all bits set
		keys = append(keys, bytes.Repeat([]byte{0xfe}, n))
	}
	for i := range 60 {
		keys = append(keys, fmt.Appendf(nil, "user:%d", i*i*i+10))
	}
	for i := range 20 {
		keys = append(keys, fmt.Append(nil, (i-10)*7919*7919))
	}
	return keys
}

type vectorKey struct {
	Hex          string `json:"hex"`
	KeyHash      string `json:"key_hash"` // 16 hexadecimal digits: JSON has no exact integers of 64 bits
	RingPosition uint32 `json:"ring_position"`
	Murmur2      uint32 `json:"murmur2"`
}

// vectorHash is a configuration as the API writes it.
type vectorHash struct {
	Function          string   `json:"function"`
	TokensPerInstance int      `json:"tokens_per_instance,omitzero"`
	MaxParallelism    int      `json:"max_parallelism,omitzero"`
	KeyType           string   `json:"key_type,omitzero"`
	Partitions        int      `json:"partitions,omitzero"`
	Assignment        []int32  `json:"assignment,omitempty"`
	Affinity          Affinity `json:"affinity,omitzero"`
}

type vectorInstance struct {
	ID     int32 `json:"id"`
	Tokens int   `json:"tokens,omitzero"`
}

// vectorRules are rules of a placement as the feed writes them.
type vectorRules struct {
	Rules []vectorRule `json:"rules"`
}

type vectorRule struct {
	Name string `json:"name"`
	Keys struct {
		Prefix string   `json:"prefix,omitzero"`
		Equals []string `json:"equals,omitzero"`
	} `json:"keys"`
	On        vectorOn `json:"on,omitzero"`
	Exclusive bool     `json:"exclusive,omitzero"`
	Stay      bool     `json:"stay,omitzero"`
}

type vectorOn struct {
	Instances []int32 `json:"instances,omitzero"`
}

func rulesOf(rules ...Rule) *vectorRules {
	out := &vectorRules{}
	for _, r := range rules {
		v := vectorRule{Name: r.Name, On: vectorOn{r.On}, Exclusive: r.Exclusive, Stay: r.Stay}
		v.Keys.Prefix, v.Keys.Equals = r.Prefix, r.Equals
		out.Rules = append(out.Rules, v)
	}
	return out
}

type vectorPlaced struct {
	Hash      vectorHash       `json:"hash"`
	Placement *vectorRules     `json:"placement,omitempty"`
	Instances []vectorInstance `json:"instances"`
	// Placed is the instance of each key; null: the function refuses it.
	Placed []*int32 `json:"placed"`
}

func (h vectorHash) function(t *testing.T, over []vectorInstance, by *vectorRules) Function {
	t.Helper()
	instances := make([]Instance, len(over))
	for i, x := range over {
		instances[i] = Instance(x)
	}
	c := Config{Function: h.Function, TokensPerInstance: h.TokensPerInstance, MaxParallelism: h.MaxParallelism,
		KeyType: h.KeyType, Partitions: h.Partitions, Assignment: h.Assignment, Affinity: h.Affinity}
	if by != nil {
		for _, r := range by.Rules {
			c.Rules = append(c.Rules, Rule{r.Name, r.Keys.Equals, r.Keys.Prefix, r.On.Instances, r.Exclusive, r.Stay})
		}
	}
	return mustNew(t, c, instances)
}

func some(ids ...int32) []vectorInstance {
	out := make([]vectorInstance, len(ids))
	for i, id := range ids {
		out[i].ID = id
	}
	return out
}

func functionVectors(t *testing.T) any {
	var out struct {
		Keys      []vectorKey    `json:"keys"`
		Functions []vectorPlaced `json:"functions"`
	}
	keys := awkwardKeys()
	for _, key := range keys {
		out.Keys = append(out.Keys, vectorKey{hex.EncodeToString(key), fmt.Sprintf("%016x", KeyHash(key)),
			RingPosition(key), murmur2(key)})
	}
	for _, f := range []vectorPlaced{
		{Hash: vectorHash{Function: Ring}, Instances: some(0)},
		{Hash: vectorHash{Function: Ring}, Instances: some(0, 1, 2, 3, 4)},
		{Hash: vectorHash{Function: Ring, TokensPerInstance: 1}, Instances: some(3, 7, 1000000)},
		{Hash: vectorHash{Function: Ring, TokensPerInstance: 64}, Instances: []vectorInstance{{0, 1}, {ID: 2}, {5, 300}}},
		{Hash: vectorHash{Function: Modulo}, Instances: some(0, 1, 2)},
		{Hash: vectorHash{Function: Modulo}, Instances: some(2, 3, 5, 7, 11, 13, math.MaxInt32)},
		{Hash: vectorHash{Function: Flink}, Instances: some(0, 1, 2, 3, 4, 5, 6)},
		{Hash: vectorHash{Function: Flink, MaxParallelism: 1 << 15, KeyType: String}, Instances: some(1, 4, 9)},
		{Hash: vectorHash{Function: Flink, KeyType: Int, MaxParallelism: 100}, Instances: some(0, 1, 2)},
		{Hash: vectorHash{Function: Flink, KeyType: Long}, Instances: some(0, 1, 2, 3)},
		{Hash: vectorHash{Function: Ring, Affinity: Affinity{Tag: true}}, Instances: some(0, 1, 2, 3, 4)},
		{Hash: vectorHash{Function: Modulo, Affinity: Affinity{Until: "/"}}, Instances: some(0, 1, 2, 3, 4)},
		{Hash: vectorHash{Function: Kafka, Partitions: 12, Affinity: Affinity{Until: "::", Count: 2}},
			Instances: some(0, 1, 2)},
		{Hash: vectorHash{Function: Kafka, Partitions: 12}, Instances: some(0, 1, 2, 3, 4)},
		{Hash: vectorHash{Function: Kafka, Partitions: 7, Assignment: []int32{4, 4, 2, 9, 2, 2, 4}},
			Instances: some(2, 4, 9)},
		{Hash: vectorHash{Function: Ring}, Placement: awkwardRules(), Instances: some(0, 1, 2, 3, 4)},
		{Hash: vectorHash{Function: Modulo}, Placement: awkwardRules(), Instances: some(0, 1, 2, 3, 4, 8)},
		{Hash: vectorHash{Function: Kafka, Partitions: 12}, Placement: awkwardRules(), Instances: some(0, 1, 2, 3, 4)},
		{Hash: vectorHash{Function: Ring, TokensPerInstance: 8},
			Placement: rulesOf(Rule{Name: "all", On: []int32{5, 6}, Exclusive: true}), Instances: some(5, 6)},
	} {
		place := f.Hash.function(t, f.Instances, f.Placement)
		for _, key := range keys {
			if at, err := place.Instance(key, KeyHash(key)); err != nil {
				f.Placed = append(f.Placed, nil)
			} else {
				f.Placed = append(f.Placed, &at)
			}
		}
		out.Functions = append(out.Functions, f)
	}
	return out
}

// awkwardRules are rules whose keys overlap, over instances 0 to 4.
func awkwardRules() *vectorRules {
	return rulesOf(
		Rule{Name: "pinned", Equals: []string{"user:10", "user:1010", "日本語", "token-0-0"}, On: []int32{1}},
		Rule{Name: "one user", Prefix: "user:1", On: []int32{2, 3}},
		Rule{Name: "asleep", Prefix: "user:2", Stay: true},
		Rule{Name: "users", Prefix: "user:", On: []int32{0, 2, 3}},
		Rule{Name: "named after a prefix", Equals: []string{"user:18", "a", "abcd"}, On: []int32{1}},
		Rule{Name: "own", Prefix: "ab", On: []int32{4}, Exclusive: true},
		Rule{Name: "own as well", Prefix: "😀", On: []int32{2, 4}, Exclusive: true},
		Rule{Name: "a", Prefix: "a", On: []int32{0, 1, 4}},
		Rule{Name: "never", Prefix: "abc", On: []int32{0}},
	)
}

// vectorGrouping is partial key grouping over some instances.
type vectorGrouping struct {
	Instances []int32 `json:"instances"` // ids, ascending
	Choices   int     `json:"choices"`
	// Candidates are those of each key, the first one first.
	Candidates [][]int32 `json:"candidates"`
}

func candidateVectors() any {
	var out struct {
		Keys   []string         `json:"keys"` // hexadecimal
		Groups []vectorGrouping `json:"groups"`
	}
	keys := awkwardKeys()
	for _, key := range keys {
		out.Keys = append(out.Keys, hex.EncodeToString(key))
	}
	for _, g := range []vectorGrouping{
		{Instances: []int32{0}, Choices: 2}, {Instances: []int32{0, 1, 2, 3, 4}, Choices: 2},
		{Instances: []int32{0, 1, 2, 3, 4}, Choices: 4}, {Instances: []int32{2, 3, 5, 7, 11, 13, math.MaxInt32}, Choices: 7},
		{Instances: []int32{1, 8, 9}, Choices: 100},
	} {
		for _, key := range keys {
			g.Candidates = append(g.Candidates, Candidates(nil, key, g.Instances, g.Choices))
		}
		out.Groups = append(out.Groups, g)
	}
	return out
}

type vectorRing struct {
	Nodes []vectorInstance `json:"nodes"`
	// Tokens are position, node and index of the first and last tokens in ring order.
	First [][3]uint32 `json:"first"`
	Last  [][3]uint32 `json:"last"`
	Count int         `json:"count"`
	// At are positions and the nodes that they belong to.
	At [][2]uint32 `json:"at"`
}

func ringVectors() any {
	var out struct {
		Rings []vectorRing `json:"rings"`
	}
	for _, nodes := range [][]Node{
		{{0, 1}}, {{0, 1}, {1, 1}}, {{0, 128}, {1, 128}, {2, 128}}, {{9, 3}, {2, 0}, {5, 700}}, {{0, 40_000}, {1, 60_000}},
	} {
		r := NewTokenRing(nodes)
		tokens := r.Tokens()
		v := vectorRing{Count: len(tokens)}
		for _, n := range nodes {
			v.Nodes = append(v.Nodes, vectorInstance(n))
		}
		few := min(len(tokens), 5)
		v.First, v.Last = listed(tokens[:few]), listed(tokens[len(tokens)-few:])
		positions := []uint32{0, 1, 1 << 31, 1<<31 - 1, math.MaxUint32 - 1, math.MaxUint32}
		for i := 0; i < len(tokens); i += 1 + len(tokens)/20 {
			p := tokens[i].Position
			positions = append(positions, p-1, p, p+1)
		}
		for i := 1; i < len(tokens); i++ { // tokens at the same position
			if p := tokens[i].Position; p == tokens[i-1].Position {
				positions = append(positions, p)
			}
		}
		for _, p := range positions {
			v.At = append(v.At, [2]uint32{p, uint32(r.At(p))})
		}
		out.Rings = append(out.Rings, v)
	}
	return out
}

func listed(tokens []Token) (out [][3]uint32) {
	for _, x := range tokens {
		out = append(out, [3]uint32{x.Position, uint32(x.Node), uint32(x.Index)})
	}
	return out
}

// vectorTable is a history of one table, as the feed tells it.
type vectorTable struct {
	Name   string       `json:"name"`
	Router string       `json:"router"`
	Keys   []string     `json:"keys"` // hexadecimal
	Steps  []vectorStep `json:"steps"`
}

type vectorStep struct {
	// Answer is what the feed says, with the fields that a route depends on.
	Answer vectorAnswer `json:"answer"`
	// Lookups are where each key goes then, before any message is sent.
	Lookups []vectorLookup `json:"lookups"`
	// Sends are indices of keys of which a message is sent one after the other, and the
	// instances to which: of keys that are paused nothing is sent.
	Sends [][2]int32 `json:"sends"`
}

type vectorLookup struct {
	Instance *int32       `json:"instance"` // null: no route is known
	Paused   bool         `json:"paused"`
	Parts    []vectorPart `json:"parts,omitempty"`
	// Then is the instance once what is pending is committed; absent: nothing is pending, or
	// no route is known.
	Then *int32 `json:"then,omitempty"`
}

type vectorAnswer struct {
	Operator      string           `json:"operator"`
	Scheme        string           `json:"scheme"`
	KeyEncoding   string           `json:"key_encoding"`
	ConfigVersion int64            `json:"config_version"`
	Version       int64            `json:"version"`
	FromVersion   *int64           `json:"from_version,omitempty"`
	Full          *bool            `json:"full,omitempty"`
	Hash          *vectorHash      `json:"hash,omitempty"`
	Placement     *vectorRules     `json:"placement,omitempty"`
	Routing       Routing          `json:"routing,omitempty"`
	Instances     []vectorInstance `json:"instances,omitempty"`
	Entries       []vectorEntry    `json:"entries,omitempty"`
	Set           []vectorEntry    `json:"set,omitempty"`
	Unset         []string         `json:"unset,omitempty"`
	Pending       *vectorPending   `json:"pending"`
	rehashed      bool             // what is pending places keys differently
}

type vectorPending struct {
	Plan          string           `json:"plan"`
	Batch         int64            `json:"batch"`
	Version       int64            `json:"version"`
	ConfigVersion int64            `json:"config_version"`
	Phase         string           `json:"phase"`
	Executor      string           `json:"executor"`
	ExecutorEpoch int64            `json:"executor_epoch"`
	Routers       map[string]int64 `json:"routers"`
	Awaits        []int32          `json:"awaits"`
	Hash          vectorHash       `json:"hash"`
	Placement     *vectorRules     `json:"placement,omitempty"`
	Routing       Routing          `json:"routing,omitempty"`
	Instances     []vectorInstance `json:"instances"`
	Set           []vectorEntry    `json:"set"`
	Unset         []string         `json:"unset"`
}

type vectorEntry struct {
	Key      string       `json:"key"`
	Instance int32        `json:"instance"`
	Parts    []vectorPart `json:"parts,omitempty"`
}

type vectorPart struct {
	Instance int32 `json:"instance"`
	Weight   int32 `json:"weight"`
}

func tableVectors(t *testing.T) any {
	tables := []vectorTable{wholeKeys(), rehashed(), grouped(), splitKeys(), leastLoaded(), ruled()}
	for i := range tables {
		tables[i].follow(t)
	}
	return map[string]any{"tables": tables}
}

// follow computes what is expected of each step.
func (v *vectorTable) follow(t *testing.T) {
	t.Helper()
	var table *Table
	for i := range v.Steps {
		s := &v.Steps[i]
		table = s.Answer.apply(t, table, v.Router)
		for _, key := range v.keys(t) {
			s.Lookups = append(s.Lookups, lookUp(t, table, key))
		}
		v.send(t, s, table)
	}
}

func (v *vectorTable) keys(t *testing.T) (keys [][]byte) {
	t.Helper()
	for _, text := range v.Keys {
		key, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, key)
	}
	return keys
}

// send sends messages of all keys by turns, of earlier keys more.
func (v *vectorTable) send(t *testing.T, s *vectorStep, table *Table) {
	t.Helper()
	keys := v.keys(t)
	s.Sends = [][2]int32{}
	for n := range 12 {
		for i, key := range keys {
			if at, err := table.Lookup(key); err == nil && !at.Paused && n*(i+1) <= 2*len(keys) {
				s.Sends = append(s.Sends, [2]int32{int32(i), at.Next()})
			}
		}
	}
}

func lookUp(t *testing.T, table *Table, key []byte) (out vectorLookup) {
	t.Helper()
	at, err := table.Lookup(key)
	if out.Paused = at.Paused; err == nil {
		out.Instance = &at.Instance
	} else if !errors.Is(err, ErrNoRoute) && table.hash == nil {
		t.Fatal(err)
	}
	for _, p := range at.Parts() {
		out.Parts = append(out.Parts, vectorPart(p))
	}
	if next := table.Pending(); next != nil {
		if then, err := next.Lookup(key); err == nil {
			out.Then = &then.Instance
		}
	}
	return out
}

// apply makes of a table what the answer says.
func (a vectorAnswer) apply(t *testing.T, table *Table, router string) *Table {
	t.Helper()
	var err error
	if a.FromVersion == nil || *a.Full {
		hash := a.Hash.function(t, a.Instances, a.Placement)
		table, err = NewTable(a.Version, hash, entriesOf(t, append(a.Entries, a.Set...)), router)
	} else {
		table, err = table.Changed(a.Version, entriesOf(t, a.Set), keysOf(t, a.Unset))
	}
	if err != nil {
		t.Fatal(err)
	}
	by := cmp.Or(a.Routing, Weighted)
	if table.Routing() != by {
		table = table.WithRouting(by)
	}
	var then *Pending
	if p := a.Pending; p != nil {
		then = &Pending{Version: p.Version, Set: entriesOf(t, p.Set), Unset: keysOf(t, p.Unset), Routing: p.Routing,
			Hash: p.Hash.function(t, p.Instances, p.Placement), Rehashed: a.rehashed}
	}
	if table, err = table.WithPending(then); err != nil {
		t.Fatal(err)
	}
	return table
}

func entriesOf(t *testing.T, list []vectorEntry) (out []Entry) {
	t.Helper()
	for _, e := range list {
		entry := Entry{Key: keysOf(t, []string{e.Key})[0], Instance: e.Instance}
		for _, p := range e.Parts {
			entry.Parts = append(entry.Parts, Part(p))
		}
		out = append(out, entry)
	}
	return out
}

func keysOf(t *testing.T, list []string) (out [][]byte) {
	t.Helper()
	for _, text := range list {
		key, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, key)
	}
	return out
}

// answerOf is a whole table or, with a version that it changes, what changes of that.
func answerOf(version int64, from int64, hash *vectorHash, instances []vectorInstance) vectorAnswer {
	a := vectorAnswer{Operator: "clicks", Scheme: "table", KeyEncoding: "base64", ConfigVersion: 1, Version: version,
		Hash: hash, Instances: instances}
	if from > 0 {
		full := false
		a.FromVersion, a.Full = &from, &full
	}
	return a
}

func entry(key string, instance int32, parts ...vectorPart) vectorEntry {
	return vectorEntry{base64.StdEncoding.EncodeToString([]byte(key)), instance, parts}
}

func base64s(keys ...string) []string {
	out := []string{}
	for _, key := range keys {
		out = append(out, base64.StdEncoding.EncodeToString([]byte(key)))
	}
	return out
}

func hexes(keys ...string) (out []string) {
	for _, key := range keys {
		out = append(out, hex.EncodeToString([]byte(key)))
	}
	return out
}

func pendingOf(
	version int64, hash vectorHash, instances []vectorInstance, set []vectorEntry, unset []string,
) *vectorPending {
	return &vectorPending{Plan: "plan-1", Batch: 1, Version: version, ConfigVersion: 1, Phase: "handing_over",
		Executor: "engine", ExecutorEpoch: 1, Routers: map[string]int64{"r1": 1}, Awaits: []int32{0, 1}, Hash: hash,
		Instances: instances, Set: set, Unset: unset}
}

// wholeKeys is a table whose entries come, go, and come again while a plan is pending.
func wholeKeys() vectorTable {
	ring, over := vectorHash{Function: Ring}, some(0, 1, 2)
	first := answerOf(1, 0, &ring, over)
	first.Entries = []vectorEntry{entry("a", 2), entry("\xff\x00", 1), entry("", 0), entry("日本語", 2)}
	moving := answerOf(1, 1, nil, nil)
	moving.Pending = pendingOf(2, ring, over, []vectorEntry{entry("a", 0), entry("new", 1)}, base64s("日本語"))
	after := answerOf(2, 1, nil, nil)
	after.Set, after.Unset = []vectorEntry{entry("a", 0), entry("new", 1)}, base64s("日本語")
	back := answerOf(3, 2, nil, nil)
	back.Set, back.Unset = []vectorEntry{entry("日本語", 1)}, base64s("a", "never was there")
	again := answerOf(9, 3, &ring, some(0, 1, 2, 3))
	*again.Full = true
	again.Entries = []vectorEntry{entry("b", 3)}
	return vectorTable{Name: "whole keys", Router: "r1",
		Keys:  hexes("a", "b", "\xff\x00", "", "日本語", "new", "never was there", "user:1", "user:2"),
		Steps: []vectorStep{{Answer: first}, {Answer: moving}, {Answer: after}, {Answer: back}, {Answer: again}}}
}

// rehashed is a table whose hash changes: keys without an entry are paused if they move.
func rehashed() vectorTable {
	flink, modulo, over := vectorHash{Function: Flink, MaxParallelism: 64}, vectorHash{Function: Modulo}, some(0, 1)
	first := answerOf(4, 0, &flink, over)
	first.Entries = []vectorEntry{entry("user:1", 0), entry("user:2", 1)}
	moving := answerOf(4, 4, nil, nil)
	moving.Pending, moving.rehashed = pendingOf(5, modulo, some(0, 1, 2), []vectorEntry{entry("user:3", 2)},
		base64s("user:1")), true
	reported := answerOf(6, 0, &vectorHash{Function: Reported}, over)
	reported.Entries = first.Entries
	return vectorTable{Name: "hash changes", Router: "r1", Keys: hexes("user:1", "user:2", "user:3", "user:4", "user:5",
		"user:6", "user:7", "\xff"), Steps: []vectorStep{{Answer: first}, {Answer: moving}, {Answer: reported}}}
}

// ruled is a table whose rules change: keys without an entry are paused if they move.
func ruled() vectorTable {
	ring, over := vectorHash{Function: Ring}, some(0, 1, 2)
	first := answerOf(1, 0, &ring, over)
	first.Placement = rulesOf(Rule{Name: "users", Prefix: "user:", On: []int32{0, 1}})
	first.Entries = []vectorEntry{entry("user:1", 2)}
	moving := answerOf(1, 1, nil, nil)
	moving.Pending, moving.rehashed = pendingOf(2, ring, over, []vectorEntry{}, base64s("user:1")), true
	moving.Pending.Placement = rulesOf(Rule{Name: "two", Equals: []string{"user:2"}, On: []int32{2}, Exclusive: true})
	other := answerOf(1, 1, nil, nil) // entries alone change: the rules are those of before
	other.Set = []vectorEntry{entry("user:4", 1)}
	other.Version = 2
	after := answerOf(3, 2, &ring, over)
	*after.Full = true
	after.Placement = moving.Pending.Placement
	none := answerOf(4, 3, &ring, over)
	*none.Full = true
	return vectorTable{Name: "rules change", Router: "r1", Keys: hexes("user:1", "user:2", "user:3", "user:4", "user:5",
		"user:6", "a", "b", "c", "d", ""), Steps: []vectorStep{{Answer: first}, {Answer: moving}, {Answer: other},
		{Answer: after}, {Answer: none}}}
}

// grouped is a table of routed keys, which are others by what is pending.
func grouped() vectorTable {
	tag, over := vectorHash{Function: Modulo, Affinity: Affinity{Tag: true}}, some(0, 1, 2)
	first := answerOf(1, 0, &tag, over)
	first.Entries = []vectorEntry{entry("order7", 2), entry("plain", 1)}
	same := answerOf(1, 1, nil, nil)
	same.Pending = pendingOf(2, tag, over, []vectorEntry{entry("order8", 0)}, base64s("order7"))
	moving := answerOf(1, 1, nil, nil)
	until := vectorHash{Function: Modulo, Affinity: Affinity{Until: ":", Count: 2}}
	moving.Pending, moving.rehashed = pendingOf(2, until, over,
		[]vectorEntry{entry("a:{order7}", 0)}, base64s("order7")), true
	reported := answerOf(3, 0, &vectorHash{Function: Reported, Affinity: tag.Affinity}, over)
	reported.Entries = first.Entries
	return vectorTable{Name: "keys that stay together", Router: "r1", Keys: hexes("a:{order7}", "b:{order7}", "order7",
		"a:{order7}:x", "{order8}", "order8", "plain", "{plain", "{}plain", "x:y:z", "x:y"),
		Steps: []vectorStep{{Answer: first}, {Answer: same}, {Answer: moving}, {Answer: reported}}}
}

// splitKeys is a table whose keys are split by weights, which change.
func splitKeys() vectorTable {
	hash, over := vectorHash{Function: Modulo}, some(0, 1, 2)
	first := answerOf(1, 0, &hash, over)
	first.Entries = []vectorEntry{entry("hot", 2, vectorPart{0, 16384}, vectorPart{2, 49152}),
		entry("warm", 0, vectorPart{0, 30000}, vectorPart{1, 30000}, vectorPart{2, 5536}), entry("cold", 1)}
	moving := answerOf(1, 1, nil, nil)
	moving.Pending = pendingOf(2, hash, over, []vectorEntry{entry("warm", 1)}, base64s())
	changed := answerOf(2, 1, nil, nil)
	changed.Set = []vectorEntry{entry("warm", 1), entry("hot", 1, vectorPart{0, 1}, vectorPart{1, 65535})}
	return vectorTable{Name: "split keys, weighted", Router: "router-7", Keys: hexes("hot", "warm", "cold", "other"),
		Steps: []vectorStep{{Answer: first}, {Answer: moving}, {Answer: changed}}}
}

// leastLoaded is the same table with parts chosen by what was sent; later a version makes
// routers count anew.
func leastLoaded() vectorTable {
	v := splitKeys()
	v.Name = "split keys, least loaded"
	for i := range v.Steps {
		v.Steps[i].Answer.Routing = LeastLoaded
	}
	v.Steps[1].Answer.Pending.Routing = LeastLoaded
	return v
}
