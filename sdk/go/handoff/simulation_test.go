package handoff_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"

	"plannerd/sdk/go/handoff"
	"plannerd/sdk/go/route"
)

// assumption is something that an engine or its transport has to give.
type assumption int

const (
	allGiven           assumption = iota
	epochsRefused                 // an append under a lower epoch is refused
	heldUnacknowledged            // a message that is held is not acknowledged to its source
	sourcesStay                   // a source stays with its router
	registeredFirst               // a router registers before it reads the table
	lostAwaited                   // a plan waits for routers whose leases have run out, too
	channelsOrdered               // a channel is read in the order in which it was appended to
	transfersOrdered              // so are transfers
	sentAfterDurable              // ends, acknowledgements and votes are sent once all is durable
	stateWithPosition             // the state is durable with the positions in channels and transfers
	machineWithState              // the machine is durable with the state
	numbersChecked                // a message whose number is not new is dropped
	numbersMove                   // the last numbers are part of the state that moves
	earlyApart                    // a message that was sent before a plan is not processed on imported state
	followingFinished             // a plan whose messages follow is not aborted
	rehashTold                    // other rules, affinity or instances are told as another hash
)

// The size of a simulated system. Each router has a source of perRouter messages.
const (
	routerCount   = 3
	instanceCount = 5
	keyCount      = 40
	perRouter     = 400
	planCount     = 10
)

// numbered is a message: the n-th of its source and key.
type numbered struct{ Source, N int }

func keyName(k int) []byte { return []byte("k" + strconv.Itoa(k)) }

func routerName(r int) string { return "r" + strconv.Itoa(r) }

// index is the number in the name of a key or router.
func index[T string | []byte](name T) int {
	n, err := strconv.Atoi(string(name[1:]))
	if err != nil {
		panic(err)
	}
	return n
}

// history is a run of simulated routers, instances, drivers and the service, in which
// processes crash, and each is slow at times.
type history struct {
	rng     *rand.Rand
	mode    handoff.Mode
	without assumption

	// The service. A revision is whatever it says anew.
	version, revision int64
	table, goals      [][]int32                  // the instances of keys now, and by the plan; ascending
	merged            [keyCount]bool             // keys that were split, or at two places, at any time
	astray            [keyCount]int32            // where more state of a key is than the table knows; -1: nowhere
	repeated          [keyCount][routerCount]int // messages that were handed over again
	now, then         *placing                   // how the table and the plan place keys; nil: by an entry for each
	batches           [][]int                    // the keys of the plan's batches that are left
	batch             []int                      // and of the one that is pending
	plans             int
	pending           *handoff.Pending
	acked             map[int32]bool
	executor          int64
	epochs            [routerCount]int64
	expired           [routerCount]bool

	channels  [routerCount][instanceCount]channel
	transfers [instanceCount][instanceCount][]handoff.Transfer
	sources   [routerCount]*source
	routers   []*router
	instances [instanceCount]*instance
	drivers   []*driver

	calm  bool // nothing fails any more
	wrong error
	tally map[string]int
}

func newHistory(seed uint64, mode handoff.Mode, without assumption) *history {
	h := &history{rng: rand.New(rand.NewPCG(seed, 22)), mode: mode, without: without, version: 1, executor: 1,
		plans: planCount, tally: map[string]int{}}
	for range keyCount {
		h.table = append(h.table, []int32{h.anyInstance()})
	}
	for r := range h.sources {
		h.sources[r] = &source{id: r, left: perRouter, keys: rand.NewZipf(h.rng, 1.2, 2, keyCount-1)}
	}
	h.startRouter(1) // the others join later
	for i := range h.instances {
		h.instances[i] = &instance{h: h, id: int32(i), durable: stored{states: map[int]state{}, record: []byte("{}")}}
	}
	for k := range h.astray {
		if h.astray[k] = -1; k%4 == 1 {
			h.astray[k], h.merged[k] = h.anyInstance(), true
			h.instances[h.astray[k]].durable.states[k] = state{Active: part{There: true, Astray: 1}}
		}
	}
	h.startDriver()
	return h
}

func (h *history) anyInstance() int32 { return int32(h.rng.IntN(instanceCount)) }

func (h *history) chance(percent int) bool { return h.rng.IntN(100) < percent }

func (h *history) fail(format string, args ...any) {
	if h.wrong == nil {
		h.wrong = fmt.Errorf(format, args...)
	}
}

// check fails the history by an error that must not be.
func (h *history) check(err error) {
	if err != nil {
		h.fail("%w", err)
	}
}

func (h *history) view() handoff.View {
	var t *route.Table
	var err error
	if h.now != nil {
		t, err = h.now.view(h.version, h.then, h.without)
	} else {
		t, err = h.entries()
	}
	h.check(err)
	v := handoff.View{Version: h.version, Table: handoff.Routes{Table: t}}
	if h.pending != nil {
		pending := *h.pending
		v.Pending = &pending
	}
	return v
}

// entries is the table under what is pending, with an entry for each key.
func (h *history) entries() (*route.Table, error) {
	var all, set []route.Entry
	for k, at := range h.table {
		all = append(all, entry(k, at))
	}
	t, err := route.NewTable(h.version, nil, all, "")
	if h.pending == nil || err != nil {
		return t, err
	}
	for _, k := range h.batch {
		set = append(set, entry(k, h.goals[k]))
	}
	return t.WithPending(&route.Pending{Version: h.pending.Version, Set: set})
}

// entry sends a key to instances in equal parts.
func entry(k int, at []int32) route.Entry {
	e := route.Entry{Key: keyName(k), Instance: at[0]}
	if n := int32(len(at)); n > 1 {
		for _, i := range at {
			e.Parts = append(e.Parts, route.Part{Instance: i, Weight: route.PartUnits / n})
		}
		e.Parts[0].Weight += route.PartUnits % n
	}
	return e
}

// start begins the next batch, or else the next plan: some keys go anywhere, in up to
// three batches. Every fourth key may be split, and every other
// fourth has state elsewhere at first. A plan under rules is one batch.
func (h *history) start() {
	switch {
	case len(h.batches) > 0:
	case h.now != nil:
		h.plans--
		h.then = h.replace()
		h.goals = h.then.routes()
		h.batches = [][]int{h.rng.Perm(keyCount)}
	default:
		h.plans--
		h.goals = slices.Clone(h.table)
		keys := h.rng.Perm(keyCount)[:1+h.rng.IntN(keyCount)]
		for _, k := range keys {
			h.goals[k] = []int32{h.anyInstance()}
			for k%4 == 3 && h.chance(40) {
				h.goals[k], h.merged[k] = append(h.goals[k], h.anyInstance()), true
			}
			slices.Sort(h.goals[k])
			h.goals[k] = slices.Compact(h.goals[k])
		}
		for n := 1 + h.rng.IntN(3); n > 0; n-- {
			size := len(keys) / n
			h.batches, keys = append(h.batches, keys[:size]), keys[size:]
		}
	}
	h.begin()
}

// begin begins the next batch.
func (h *history) begin() {
	h.batch = slices.DeleteFunc(h.batches[0], func(k int) bool {
		return slices.Equal(h.goals[k], h.table[k]) && h.astray[k] < 0
	})
	h.batches = h.batches[1:]
	awaits := map[int32]bool{}
	for _, k := range h.batch {
		for _, i := range slices.Concat(h.table[k], h.goals[k]) {
			awaits[i] = true
		}
		if h.astray[k] >= 0 {
			awaits[h.astray[k]] = true
		}
	}
	rehashed := h.now != nil && h.now.rehashed(h.then)
	if rehashed {
		h.tally["changes of the hash"]++
	}
	if all := rehashed || len(awaits) == 0 || h.chance(10); all {
		for i := range int32(instanceCount) {
			awaits[i] = true
		}
	}
	registered := map[string]int64{}
	for r, epoch := range h.epochs {
		if epoch > 0 && (!h.expired[r] || h.without != lostAwaited) {
			registered[routerName(r)] = epoch
		}
	}
	h.pending = &handoff.Pending{Version: h.version + 1, Routers: registered,
		Awaits: slices.Sorted(maps.Keys(awaits)), ExecutorEpoch: h.executor}
	h.acked = map[int32]bool{}
	h.revision++
}

// end ends what is pending. The next batch may begin in the same instant.
func (h *history) end() {
	h.version, h.pending, h.batch = h.version+1, nil, nil
	h.revision++
	if len(h.batches) > 0 && h.chance(50) {
		h.begin()
	}
}

// call does what a driver asks of the service. It returns the epoch of the executor where
// it refuses that for a lower one.
func (h *history) call(c handoff.Call) (fencedBy int64) {
	p := h.pending
	switch {
	case p == nil || p.Version != c.Version:
	case c.Epoch < h.executor:
		return h.executor
	case c.Do == handoff.PostAck && !p.Aborting:
		if h.acked[c.Instance] = true; len(h.acked) == len(p.Awaits) {
			h.tally["commits"]++
			h.table = slices.Clone(h.table)
			for _, k := range h.batch {
				h.table[k], h.astray[k] = h.goals[k], -1
			}
			h.committed()
			h.end()
		}
	case c.Do == handoff.PostAbort:
		p.Aborting = true
		h.revision++
	case c.Do == handoff.PostRolledBack:
		if !p.Aborting {
			h.fail("an abort ends that has not begun")
		}
		h.tally["aborts"]++
		h.batches, h.then = nil, nil
		h.end()
	}
	return 0
}

// register gives a router an epoch.
func (h *history) register(r int) int64 {
	h.epochs[r]++
	return h.epochs[r]
}

// feed is how a process reads the service: an answer may be old when it arrives.
type feed struct {
	known  int64 // the revision that was delivered last
	asked  int64
	answer *handoff.View
}

func (f *feed) ask(h *history) {
	v := h.view()
	f.asked, f.answer = h.revision, &v
}

// next asks where there is something new, or delivers the answer.
func (f *feed) next(h *history) (v *handoff.View, acted bool) {
	if f.answer == nil {
		if f.known == h.revision {
			return nil, false
		}
		f.ask(h)
		return nil, true
	}
	v, f.known, f.answer = f.answer, f.asked, nil
	return v, true
}

// nothing is what is known before anything was read.
const nothing = -1

type channel struct {
	epoch int64 // the highest of the log
	log   []handoff.Read[numbered]
}

func (c *channel) append(x handoff.Read[numbered]) {
	c.log, c.epoch = append(c.log, x), max(c.epoch, x.Epoch)
}

// sent is a message of a source: the n-th of a key.
type sent struct{ key, n int }

// source hands messages over, and to another process of its router again those that were
// not acknowledged.
type source struct {
	id, left       int
	keys           *rand.Zipf
	last           [keyCount]int
	unacknowledged []sent
	again          []sent
}

func (s *source) acknowledge(done ...sent) {
	s.unacknowledged = slices.DeleteFunc(s.unacknowledged, func(m sent) bool { return slices.Contains(done, m) })
}

// router is a process of a router. One that was replaced may live on until it is refused.
type router struct {
	h              *history
	id             int
	machine        *handoff.Router[numbered]
	source         *source
	epoch          int64 // 0: it has to register
	replaced, dead bool
	feed           feed
	last           *handoff.View
	out            []handoff.Append[numbered]
	appended       []sent // and not acknowledged to the source yet
}

func (h *history) startRouter(r int) {
	s := h.sources[r]
	s.again = slices.Clone(s.unacknowledged)
	h.routers = append(h.routers, &router{h: h, id: r, source: s, machine: handoff.NewRouter[numbered](h.mode)})
}

// running is the process of a router that was not replaced; nil: it has not joined yet.
func (h *history) running(r int) *router {
	if i := slices.IndexFunc(h.routers, func(p *router) bool { return p.id == r && !p.replaced }); i >= 0 {
		return h.routers[i]
	}
	return nil
}

// crashRouter has another process take the place of one, which may live on.
func (h *history) crashRouter(r int) {
	if p := h.running(r); p != nil {
		h.tally["crashes of routers"]++
		p.replaced, p.dead = true, h.chance(50)
	}
	h.startRouter(r)
}

func (p *router) step() bool {
	h := p.h
	switch {
	case p.dead:
		return false
	case p.epoch == 0:
		if h.without == registeredFirst && p.feed.answer == nil {
			p.feed.ask(h)
			return true
		}
		p.epoch, p.last = h.register(p.id), nil
		p.machine.Registered(p.epoch)
		h.expired[p.id] = false
		if h.without != registeredFirst {
			p.feed = feed{known: nothing}
		}
		return true
	case len(p.out) > 0:
		p.append()
		return true
	case h.epochs[p.id] != p.epoch && (h.calm || h.chance(10)): // its lease is not extended
		p.refused()
		return true
	case len(p.appended) > 0 && (h.calm || h.chance(30)):
		p.source.acknowledge(p.appended...)
		p.appended = nil
		return true
	}
	v, acted := p.feed.next(h)
	if v != nil {
		p.see(v)
	}
	return acted || p.take()
}

func (p *router) see(v *handoff.View) {
	h := p.h
	var err error
	p.out, err = p.machine.See(*v)
	h.check(err)
	if p.last != nil && h.chance(10) { // an older one comes again
		out, err := p.machine.See(*p.last)
		if err != nil || len(out) > 0 {
			h.fail("router %d appends %v by an older view: %w", p.id, out, err)
		}
	}
	p.last = v
}

// append appends the first of what is to be appended.
func (p *router) append() {
	a := p.out[0]
	c := &p.h.channels[p.id][a.To]
	if a.Epoch < c.epoch && p.h.without != epochsRefused {
		p.refused()
		return
	}
	c.append(handoff.Read[numbered]{Router: routerName(p.id), Epoch: a.Epoch, Marker: a.Marker, Key: a.Key,
		Message: a.Message})
	p.out = p.out[1:]
	if a.Marker == 0 {
		p.appended = append(p.appended, sent{index(a.Key), a.Message.N})
	}
}

// refused has the router register again; one that was replaced ends.
func (p *router) refused() {
	p.h.tally["refusals of routers"]++
	if p.dead = p.replaced; !p.dead {
		p.machine.Refused(p.out...)
		p.out, p.epoch = nil, 0
	}
}

// take takes the next message of the source, in its time.
func (p *router) take() bool {
	h, s := p.h, p.source
	isNew := len(s.again) == 0
	if p.replaced || p.last == nil || isNew && s.left == 0 {
		return false
	}
	if !h.calm && h.chance(70) {
		return true
	}
	var m sent
	if isNew {
		m.key = int(s.keys.Uint64())
		s.last[m.key]++
		m.n = s.last[m.key]
		s.left--
		s.unacknowledged = append(s.unacknowledged, m)
		h.tally["messages"]++
	} else {
		m, s.again = s.again[0], s.again[1:]
		h.repeated[m.key][s.id]++
		h.tally["messages taken again"]++
	}
	a, isHeld, err := p.machine.Take(keyName(m.key), numbered{s.id, m.n})
	h.check(err)
	switch {
	case !isHeld:
		p.out = []handoff.Append[numbered]{a}
	case h.without == heldUnacknowledged:
		s.acknowledge(m)
	}
	if isHeld {
		h.tally["messages held"]++
	}
	return true
}

// state is what an instance has of a key.
type state struct{ Active, Kept, Provisional part }

// part is a state of a key. The engine goes by Seen, the last number of each source; Counted
// is how many messages were processed, by which the test judges.
type part struct {
	There         bool
	Seen, Counted [routerCount]int
	Astray        int // what was elsewhere at first
}

// add merges a part of the same key.
func (x *part) add(y part) {
	x.There, x.Astray = true, x.Astray+y.Astray
	for r := range routerCount {
		x.Seen[r], x.Counted[r] = max(x.Seen[r], y.Seen[r]), x.Counted[r]+y.Counted[r]
	}
}

// stored is what an instance makes durable.
type stored struct {
	states   map[int]state
	record   []byte
	read     [routerCount]int
	received [instanceCount]int
}

// instance is an instance, which crashes and restarts.
type instance struct {
	h       *history
	id      int32
	durable stored

	stored
	up      bool
	machine *handoff.Instance[numbered]
	feed    feed
	last    *handoff.View
	waits   bool // for the next view
	// The export that is being sent, and all of it.
	exports       bool
	unsent, given []handoff.Transfer
	owed          []handoff.Action[numbered] // to be sent once all is durable
	outbox        []handoff.Action[numbered] // to be sent
	changed       bool                       // not all is durable
}

func (p *instance) step() bool {
	h := p.h
	switch {
	case !p.up:
		p.restart()
		return true
	case len(p.outbox) > 0:
		a := p.outbox[0]
		p.outbox = p.outbox[1:]
		p.send(a)
		return true
	case len(p.unsent) > 0:
		t := p.unsent[0]
		p.unsent = p.unsent[1:]
		h.transfers[p.id][t.To] = append(h.transfers[p.id][t.To], t)
		return true
	case p.exports:
		p.exports = false
		for _, t := range p.given {
			p.turn([]string{t.Key}, func(s *state) (from, to *part) { return &s.Active, &s.Kept })
		}
		p.do(p.machine.Exported(p.given))
		return true
	case p.changed && h.chance(10):
		p.flush()
		return true
	}
	if v, acted := p.feed.next(h); acted {
		if v != nil {
			p.see(v)
		}
		return true
	}
	const inputs = routerCount + instanceCount
	first := h.rng.IntN(inputs)
	for n := range inputs {
		n = (n + first) % inputs
		if n < routerCount && p.readOf(n) || n >= routerCount && p.receiveOf(n-routerCount) {
			return true
		}
	}
	if p.changed {
		p.flush()
		return true
	}
	return false
}

func (p *instance) see(v *handoff.View) {
	p.waits = false
	p.do(p.machine.See(*v))
	if p.last != nil && !p.exports && p.h.chance(10) { // an older one comes again
		p.do(p.machine.See(*p.last))
	}
	p.last = v
}

func (p *instance) restart() {
	h := p.h
	var record handoff.Record[numbered]
	h.check(json.Unmarshal(p.durable.record, &record))
	v := h.view()
	*p = instance{h: h, id: p.id, durable: p.durable, stored: p.durable, up: true, feed: feed{known: h.revision}, last: &v,
		machine: handoff.NewInstance(p.id, h.mode, record)}
	p.states = maps.Clone(p.states)
	p.do(p.machine.See(v))
	if !p.exports {
		p.do(p.machine.Resume())
	}
}

func (p *instance) crash() {
	if !p.up {
		return
	}
	p.h.tally["crashes of instances"]++
	p.up = false
	switch p.h.without {
	case stateWithPosition:
		p.durable.read, p.durable.received = p.read, p.received
	case machineWithState:
		p.durable.states, p.durable.read, p.durable.received = p.states, p.read, p.received
	}
}

// flush makes all durable at once; what is owed may be sent then.
func (p *instance) flush() {
	var err error
	p.record, err = json.Marshal(p.machine.Record)
	p.h.check(err)
	p.durable = p.stored
	p.durable.states = maps.Clone(p.states)
	p.outbox, p.owed, p.changed = append(p.outbox, p.owed...), nil, false
}

// readOf reads what is next in the channel of a router.
func (p *instance) readOf(r int) bool {
	log := p.h.channels[r][p.id].log
	if p.waits || !p.maySwap(channelsOrdered, len(log)-p.read[r], func(n int) {
		log[p.read[r]], log[p.read[r]+n] = log[p.read[r]+n], log[p.read[r]]
	}) {
		return false
	}
	var actions []handoff.Action[numbered]
	if actions, p.waits = p.machine.Read(log[p.read[r]]); p.waits {
		return false
	}
	p.read[r]++
	p.changed = true
	if d := p.machine.Doing; d != nil && len(d.Parked) > 0 && len(actions) == 0 {
		p.h.tally["messages that waited for state, or markers meanwhile"]++
	}
	p.do(actions)
	return true
}

// receiveOf receives the next transfer of an instance, or an older one again.
func (p *instance) receiveOf(j int) bool {
	log := p.h.transfers[j][p.id]
	at := p.received[j]
	if p.waits || !p.maySwap(transfersOrdered, len(log)-at, func(n int) { log[at], log[at+n] = log[at+n], log[at] }) {
		return false
	}
	if at > 0 && p.h.chance(10) {
		actions, waits := p.machine.Receive(log[p.h.rng.IntN(at)])
		if waits || len(actions) > 0 {
			p.h.fail("instance %d takes a transfer twice", p.id)
		}
	}
	var actions []handoff.Action[numbered]
	if actions, p.waits = p.machine.Receive(log[at]); p.waits {
		return false
	}
	p.received[j]++
	p.changed = true
	p.do(actions)
	return true
}

// maySwap reports whether anything is left to read, and without its order may swap it with
// something behind it.
func (p *instance) maySwap(order assumption, left int, swap func(n int)) bool {
	if left > 1 && p.h.without == order && p.h.chance(10) {
		swap(p.h.rng.IntN(left))
	}
	return left > 0
}

// do does what the machine answers.
func (p *instance) do(actions []handoff.Action[numbered]) {
	for _, a := range actions {
		p.changed = true
		switch {
		case !a.Do.IsSent():
			p.change(a)
		case p.h.without == sentAfterDurable:
			p.send(a)
		default:
			p.owed = append(p.owed, a)
		}
	}
}

func (p *instance) change(a handoff.Action[numbered]) {
	switch a.Do {
	case handoff.Process:
		p.process(index(a.Key), a.Message, a.Early)
	case handoff.Import:
		k := index(a.Transfer.Key)
		s := p.states[k]
		if (s.Active.There || s.Provisional.There) && !p.h.merged[k] {
			p.h.fail("instance %d imports key %d, which it has: %+v", p.id, k, s)
		}
		var came part
		p.h.check(json.Unmarshal(a.Transfer.State, &came))
		if p.h.without == numbersMove {
			came.Seen = [routerCount]int{}
		}
		s.Provisional.add(came)
		p.states[k] = s
		p.h.tally["moves of keys"]++
	case handoff.Export:
		if len(p.owed) > 0 {
			p.flush() // transfers are sent in their order
		}
		p.collect()
	case handoff.Activate:
		p.turn(a.Keys, func(s *state) (from, to *part) { return &s.Kept, &s.Active })
	case handoff.Keep:
		p.turn(a.Keys, func(s *state) (from, to *part) { return &s.Provisional, &s.Active })
	case handoff.Forget:
		p.turn(a.Keys, func(s *state) (from, to *part) { return &s.Kept, nil })
	case handoff.Drop:
		p.turn(a.Keys, func(s *state) (from, to *part) { return &s.Provisional, nil })
	}
}

// turn makes one part of the state of keys another, or, where that is nil, drops it.
func (p *instance) turn(keys []string, which func(*state) (from, to *part)) {
	for _, key := range keys {
		k := index(key)
		s := p.states[k]
		from, to := which(&s)
		if !from.There {
			p.h.fail("key %d of instance %d is not what it is taken for: %+v", k, p.id, s)
		}
		if to != nil {
			to.add(*from)
		}
		*from = part{}
		if p.states[k] = s; s == (state{}) {
			delete(p.states, k)
		}
	}
}

// collect prepares an export.
func (p *instance) collect() {
	active := func(yield func(string) bool) {
		for _, k := range slices.Sorted(maps.Keys(p.states)) {
			if p.states[k].Active.There && !yield(string(keyName(k))) {
				return
			}
		}
	}
	list, err := p.machine.Exports(active, func(key string) ([]byte, error) {
		return json.Marshal(p.states[index(key)].Active)
	})
	p.h.check(err)
	p.exports, p.unsent, p.given = true, list, list
}

func (p *instance) process(k int, m numbered, early bool) {
	h := p.h
	s := p.states[k]
	x := &s.Active
	switch {
	case x.There:
	case s.Provisional.There && (!early || h.without == earlyApart):
		x = &s.Provisional
	case s.Kept.There:
		h.fail("message %d of source %d and key %d reached instance %d after the state left", m.N, m.Source, k, p.id)
	}
	if m.N <= x.Seen[m.Source] && h.without != numbersChecked {
		h.tally["duplicates dropped"]++
		return
	}
	if n := x.Counted[m.Source]; m.N != n+1 && !h.merged[k] {
		h.fail("instance %d counts message %d of source %d and key %d after %d", p.id, m.N, m.Source, k, n)
	}
	x.There, x.Seen[m.Source] = true, m.N
	x.Counted[m.Source]++
	p.states[k] = s
}

// send sends an end to an instance, or something to the driver of an epoch if it lives.
func (p *instance) send(a handoff.Action[numbered]) {
	if a.Do == handoff.SendEnd {
		p.h.transfers[p.id][a.Transfer.To] = append(p.h.transfers[p.id][a.Transfer.To], a.Transfer)
		return
	}
	for _, d := range p.h.drivers {
		if d.epoch == a.Epoch {
			d.inbox = append(d.inbox, mail{p.id, a.Version, a.Do == handoff.SendVote})
		}
	}
}

// fenced tells the instance that its acknowledgement was refused, and by which epoch.
func (p *instance) fenced(version, by int64) {
	if p.up && !p.exports {
		p.h.tally["acknowledgements refused"]++
		p.do(p.machine.Fenced(version, by))
	}
}

// mail is what an instance tells a driver.
type mail struct {
	instance int32
	version  int64
	vote     bool
}

// driver is a process of a driver. One that was replaced lives on until it is refused.
type driver struct {
	h       *history
	epoch   int64
	machine *handoff.Driver
	feed    feed
	sees    bool // what is pending, as its executor
	inbox   []mail
	calls   []handoff.Call
}

func (h *history) startDriver() {
	h.drivers = append(h.drivers, &driver{h: h, epoch: h.executor, machine: handoff.NewDriver(h.executor),
		feed: feed{known: nothing}})
}

// takeOver has a successor take the place of the driver, which may live on.
func (h *history) takeOver() {
	h.tally["crashes of drivers"]++
	if h.chance(50) {
		h.drivers = nil
	}
	h.executor++
	if h.pending != nil {
		h.pending.ExecutorEpoch = h.executor
		h.revision++
	}
	h.startDriver()
}

func (d *driver) step() bool {
	h := d.h
	if len(d.inbox) > 0 && h.chance(30) { // it may be of what the driver has not seen
		d.hear()
		return true
	}
	if v, acted := d.feed.next(h); acted {
		if v != nil {
			calls, stopped := d.machine.See(v.Pending)
			d.sees = !stopped
			d.calls = append(d.calls, calls...)
		}
		return true
	}
	if len(d.calls) > 0 {
		d.carryOut()
		return true
	}
	if len(d.inbox) > 0 {
		d.hear()
		return true
	}
	switch {
	case d.epoch < h.executor:
		return false
	case h.pending == nil:
		if h.plans == 0 && len(h.batches) == 0 || !h.calm && !h.chance(2) {
			return false
		}
		h.start()
		return true
	case !d.sees:
		return false
	case d.mayAbort() && h.rng.IntN(500) == 0:
		d.calls = append(d.calls, d.machine.Abort()...)
		return true
	}
	for r := range routerCount {
		name := routerName(r)
		if h.expired[r] && h.pending.Routers[name] != 0 && !slices.Contains(d.machine.Fenced(), name) {
			d.calls = append(d.calls, d.machine.Lost(name, h.register(r))...)
			return true
		}
	}
	return false
}

// hear takes what an instance says.
func (d *driver) hear() {
	h, m := d.h, d.inbox[0]
	d.inbox = d.inbox[1:]
	if h.pending != nil && h.pending.Version == m.version && d.feed.known != h.revision {
		h.tally["words that overtook the view of a driver"]++
	}
	switch {
	case d.epoch < h.executor:
		h.instances[m.instance].fenced(m.version, h.executor)
	case m.vote:
		d.calls = append(d.calls, d.machine.Voted(m.instance, m.version)...)
	default:
		d.calls = append(d.calls, d.machine.Acked(m.instance, m.version)...)
	}
}

// mayAbort reports whether the driver may abort what is pending.
func (d *driver) mayAbort() bool {
	h := d.h
	return !h.calm && !h.pending.Aborting && (h.mode == handoff.Holding || h.without == followingFinished)
}

// carryOut makes the first call, or one append of a fence.
func (d *driver) carryOut() {
	h, c := d.h, &d.calls[0]
	if c.Do == handoff.Fence {
		if to := &h.channels[index(c.Router)][c.To[0]]; c.RouterEpoch >= to.epoch {
			h.tally["markers for lost routers"]++
			to.append(handoff.Read[numbered]{Router: c.Router, Epoch: c.RouterEpoch, Marker: c.Version})
		}
		if c.To = c.To[1:]; len(c.To) > 0 {
			return
		}
	} else if by := h.call(*c); by > 0 && c.Do == handoff.PostAck {
		h.instances[c.Instance].fenced(c.Version, by)
	}
	d.calls = d.calls[1:]
}
