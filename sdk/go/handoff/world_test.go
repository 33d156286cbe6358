package handoff

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
)

// A world has routers, instances and keys of these numbers.
const (
	routers   = 2
	instances = 3
	keys      = 3
)

// message n of a router and a key.
type message struct{ Key, N uint8 }

var (
	names   = [routers]string{"r0", "r1"}
	letters = [keys][]byte{[]byte("a"), []byte("b"), []byte("c")}
)

func index(key []byte) int { return int(key[0] - 'a') }

// routes places keys now, and as the pending plan does.
type routes struct {
	now, then [keys]int32
	named     uint8 // keys that the plan names although their route stays
}

func (t *routes) Route(key []byte) (int32, bool, error) {
	k := index(key)
	return t.now[k], t.then[k] != t.now[k] || t.named>>k&1 == 1, nil
}
func (t *routes) Pending(key []byte) (int32, error)       { return t.then[index(key)], nil }
func (t *routes) Goal(key []byte, _ int32) (int32, error) { return t.then[index(key)], nil }

// scenario says what may happen in a world, and which rule of the protocol is left out.
type scenario struct {
	name   string
	mode   Mode
	routes [][keys]int32 // at first, and after each plan
	named  []uint8       // by plan: see routes.named
	all    bool          // a change of the hash: all instances are awaited
	at     [keys]int32   // where state is at first; −1: there is none yet
	send   [routers][keys]uint8
	behind bool // the driver sees what is new in its own time; otherwise at once
	// How often it may happen.
	aborts, routerCrashes, instanceCrashes, expiries, takeovers, joins int
	broken                                                             rule
}

// rule is one that a scenario leaves out.
type rule int

const (
	none                 rule = iota
	markersToAll              // markers go to givers only
	ackAfterEnds              // an instance acknowledges before it has all ends
	frozenRouters             // the routers that count are those of the moment
	registerFirst             // a router reads the table before it registers
	durableBeforeAck          // an import may be lost by a crash
	importOnce                // a transfer is taken again
	twoPhases                 // an abort ends at once
	noAckAfterAbort           // an acknowledgement counts while instances go back
	lostAreAwaited            // routers whose leases ran out are left out
	fencedEpochs              // the driver's marker has the epoch of the router
	refusedAtAppend           // an instance drops what is of a lower epoch
	heldIsUnacknowledged      // the source takes what a router holds as done
	fencedAckAgain            // an acknowledgement under the older epoch is lost
	neverAbortFollowing       // a plan is aborted whose messages follow
	unnamedFollow             // only keys of the plan's list wait for their state
	endsFree                  // messages wait for state that never comes
	recordIsDurable           // an instance forgets the machine in a crash
	earlyIsKept               // a driver drops what instances say of a hand-over that it has not seen
)

type status uint8

const (
	absent status = iota
	active
	kept
	provisional
)

// cell is what an instance has of a key: the last number of each router's messages is all
// the state there is.
type cell struct {
	status status
	last   [routers]uint8
}

// life says how a router is.
type life uint8

const (
	up    life = iota
	slow       // its lease ran out, and it does not know
	out        // it has to register again
	away       // it has not joined yet
	early      // it has read the table, and is not registered
)

type mail struct {
	vote     bool
	instance int32
	version  int64
	epoch    int64
}

type seen struct {
	version, pending, epoch int64
	aborting                bool
}

// world is one state of all that takes part.
type world struct {
	*scenario
	// The service.
	version, counter int64
	plan             int // committed routes
	pending          *Pending
	planning         int // index of the pending routes
	next             int
	acks             uint8
	epoch            int64 // of the executor
	registered       [routers]int64
	driver           *Driver
	drove            seen // what the driver saw
	// Routers, their sources and their channels.
	router   [routers]*Router[message]
	life     [routers]life
	saw      [routers]seen
	handed   [routers][keys]uint8 // how many messages the source has handed over
	left     [routers][keys]uint8
	channel  [routers][instances][]Append[message]
	appended [routers][instances]int64 // the highest epoch of a channel
	// Instances.
	instance [instances]*Instance[message]
	watched  [instances]seen
	cells    [instances][keys]cell
	unsent   [instances][]Action[message]
	highest  [instances][routers]int64 // epochs that were read, see refusedAtAppend
	transfer [instances][instances][]Transfer
	mail     []mail

	aborts, routerCrashes, instanceCrashes, expiries, takeovers, joins int

	wrong string
}

func newWorld(s *scenario) *world {
	w := &world{scenario: s, version: 1, counter: 1, epoch: 1, left: s.send, aborts: s.aborts,
		routerCrashes: s.routerCrashes, instanceCrashes: s.instanceCrashes, expiries: s.expiries,
		takeovers: s.takeovers, joins: s.joins}
	for r := range w.router {
		w.router[r] = NewRouter[message](s.mode)
		if r == 1 && s.joins > 0 {
			w.life[r] = away
			continue
		}
		w.register(r)
	}
	for i := range w.instance {
		w.instance[i] = NewInstance(int32(i), s.mode, Record[message]{})
		w.watch(i)
	}
	for k, i := range s.at {
		if i >= 0 {
			w.cells[i][k].status = active
		}
	}
	return w
}

func (w *world) clone() *world {
	c := *w
	for r := range w.router {
		x := *w.router[r]
		x.held = slices.Clone(x.held)
		c.router[r] = &x
		for i := range w.channel[r] {
			c.channel[r][i] = slices.Clone(w.channel[r][i])
		}
	}
	for i := range w.instance {
		x := *w.instance[i]
		x.Markers = maps.Clone(x.Markers)
		if x.Doing != nil {
			d := *x.Doing
			d.Given, d.Taken = slices.Clone(d.Given), slices.Clone(d.Taken)
			d.Ends, d.Parked = slices.Clone(d.Ends), slices.Clone(d.Parked)
			x.Doing = &d
		}
		c.instance[i] = &x
		c.unsent[i] = slices.Clone(w.unsent[i])
		for j := range w.transfer[i] {
			c.transfer[i][j] = slices.Clone(w.transfer[i][j])
		}
	}
	c.mail = slices.Clone(w.mail)
	if w.driver != nil {
		d := *w.driver
		d.acks, d.votes, d.fences = maps.Clone(d.acks), maps.Clone(d.votes), maps.Clone(d.fences)
		c.driver = &d
	}
	if w.pending != nil {
		p := *w.pending
		c.pending = &p
	}
	return &c
}

func (w *world) fail(format string, args ...any) {
	if w.wrong == "" {
		w.wrong = fmt.Sprintf(format, args...)
	}
}

func (w *world) table() *routes {
	t := &routes{now: w.routes[w.plan], then: w.routes[w.plan]}
	if w.pending != nil {
		t.then = w.routes[w.planning]
		if w.named != nil {
			t.named = w.named[w.planning]
		}
	}
	return t
}

func (w *world) view() View {
	v := View{Version: w.version, Table: w.table()}
	if w.pending != nil {
		p := *w.pending
		v.Pending = &p
	}
	return v
}

func (w *world) now() seen {
	s := seen{version: w.version}
	if p := w.pending; p != nil {
		s.pending, s.epoch, s.aborting = p.Version, p.ExecutorEpoch, p.Aborting
	}
	return s
}

// awaited are the instances that the pending plan awaits.
func (w *world) awaited() []int32 {
	t := w.table()
	var in [instances]bool
	for k := range keys {
		_, moves, _ := t.Route(letters[k])
		if !moves {
			continue
		}
		in[t.now[k]], in[t.then[k]] = true, true
		if t.named>>k&1 == 1 && w.at[k] >= 0 {
			in[w.at[k]] = true
		}
	}
	var list []int32
	for i := range in {
		if in[i] || w.all {
			list = append(list, int32(i))
		}
	}
	return list
}

// Routers.

func (w *world) register(r int) {
	w.registered[r]++
	w.router[r].Registered(w.registered[r])
	w.life[r] = up
	w.look(r, -1)
}

// look has a router see the view, and crash after a number of appends; −1: not at all.
func (w *world) look(r, crash int) {
	w.saw[r] = w.now()
	list, err := w.router[r].See(w.view())
	if err != nil {
		w.fail("router %d: %v", r, err)
	}
	if crash >= 0 {
		list = list[:crash]
	}
	w.append(r, list)
}

func (w *world) append(r int, list []Append[message]) {
	for n, a := range list {
		if a.Epoch < w.appended[r][a.To] && w.broken != refusedAtAppend && w.broken != fencedEpochs {
			w.router[r].Refused(list[n:]...)
			w.life[r] = out
			return
		}
		if a.Marker != 0 && w.broken == markersToAll && !w.gives(a.To) {
			continue
		}
		w.put(r, a)
	}
}

// gives reports whether an instance has keys that the plan routes elsewhere.
func (w *world) gives(i int32) bool {
	t := w.table()
	for k := range keys {
		if t.now[k] == i && t.then[k] != i {
			return true
		}
	}
	return false
}

func (w *world) put(r int, a Append[message]) {
	w.channel[r][a.To] = append(w.channel[r][a.To], a)
	w.appended[r][a.To] = max(w.appended[r][a.To], a.Epoch)
}

func (w *world) arrive(r, k int) {
	n := w.handed[r][k] + 1
	a, _, err := w.router[r].Take(letters[k], message{uint8(k), n})
	if err != nil {
		w.fail("router %d: %v", r, err)
	}
	w.handed[r][k]++
	w.left[r][k]--
	if a.Key != nil {
		w.append(r, []Append[message]{a})
	}
}

// crash has a router restart. What it held was not acknowledged, so its source hands it
// over again; with again, the last that was, too.
func (w *world) crash(r int, again bool) {
	for _, h := range w.router[r].held {
		if w.broken != heldIsUnacknowledged {
			w.handed[r][h.message.Key]--
			w.left[r][h.message.Key]++
		}
	}
	for k := range keys {
		if again && w.handed[r][k] > 0 {
			w.handed[r][k]--
			w.left[r][k]++
		}
	}
	w.router[r] = NewRouter[message](w.mode)
	w.register(r)
}

// Instances.

func (w *world) watch(i int) {
	w.watched[i] = w.now()
	v := w.view()
	if v.Pending != nil && w.broken == fencedAckAgain {
		v.Pending.ExecutorEpoch = 1 // it says nothing again on its own
	}
	w.do(i, w.instance[i].See(v))
}

// do carries out what an instance answers.
func (w *world) do(i int, actions []Action[message]) {
	for _, a := range actions {
		if a.Do.IsSent() {
			w.unsent[i] = append(w.unsent[i], a)
			continue
		}
		for _, key := range a.Keys {
			c := &w.cells[i][index([]byte(key))]
			switch a.Do {
			case Activate, Keep:
				c.status = active
			case Drop, Forget:
				*c = cell{}
			}
		}
		switch a.Do {
		case Process:
			w.process(i, a.Router, a.Message)
		case Import:
			w.take(i, a.Transfer)
		}
	}
	if w.instanceCrashes == 0 {
		w.send(i)
	}
}

func (w *world) send(i int) {
	for _, a := range w.unsent[i] {
		if a.Do == SendEnd {
			w.transfer[i][a.Transfer.To] = append(w.transfer[i][a.Transfer.To], a.Transfer)
		} else {
			m := mail{a.Do == SendVote, int32(i), a.Version, a.Epoch}
			if !slices.Contains(w.mail, m) {
				w.mail = append(w.mail, m)
			}
		}
	}
	w.unsent[i] = nil
}

func (w *world) process(i int, router string, m message) {
	r := slices.Index(names[:], router)
	c := &w.cells[i][m.Key]
	if c.status == absent || c.status == kept {
		if n, where := w.copies(int(m.Key)); n > 0 || c.status == kept {
			w.fail("%c%d of %s is processed at i%d, and its state is at i%d, or under way", 'a'+m.Key, m.N, router, i, where)
			return
		}
		*c = cell{status: active}
	}
	switch last := c.last[r]; {
	case m.N > last+1:
		w.fail("%c%d of %s is processed at i%d after %c%d: one was lost", 'a'+m.Key, m.N, router, i, 'a'+m.Key, last)
	case m.N == last+1:
		c.last[r] = m.N
	}
}

// copies counts where the state of a key is, or on its way to be taken.
func (w *world) copies(k int) (n, where int) {
	where = -1
	for i := range instances {
		if s := w.cells[i][k].status; s == active || s == provisional {
			n, where = n+1, i
		}
	}
	for i := range instances {
		for _, t := range slices.Concat(w.transfer[0][i], w.transfer[1][i], w.transfer[2][i]) {
			if !t.End && t.Key == string(letters[k]) && !w.stale(i, t) {
				n++
			}
		}
	}
	return n, where
}

// stale reports whether an instance will drop a transfer.
func (w *world) stale(i int, t Transfer) bool {
	x := w.instance[i]
	return t.Version <= x.Ended || x.Doing != nil && x.Doing.Version == t.Version &&
		(x.Doing.Voted || x.Doing.has([]byte(t.Key))) || w.pending == nil || w.pending.Version != t.Version
}

func (w *world) take(i int, t Transfer) {
	c := &w.cells[i][index([]byte(t.Key))]
	if c.status != absent && c.status != kept {
		w.fail("i%d takes %s in, which it has", i, t.Key)
		return
	}
	*c = cell{status: provisional}
	copy(c.last[:], t.State)
}

func (w *world) read(i, r int) bool {
	a := w.channel[r][i][0]
	x := w.instance[i]
	if w.broken == refusedAtAppend {
		if a.Epoch < w.highest[i][r] {
			w.channel[r][i] = w.channel[r][i][1:]
			return true
		}
		w.highest[i][r] = a.Epoch
	}
	actions, waits := x.Read(Read[message]{names[r], a.Epoch, a.Marker, a.Key, a.Message})
	if waits {
		return false
	}
	w.channel[r][i] = w.channel[r][i][1:]
	if d := x.Doing; w.broken == unnamedFollow && d != nil && a.Marker == 0 && a.Key[0] != 'a' {
		for _, m := range d.Parked {
			actions = append(actions, process(m))
		}
		d.Parked = nil
	}
	w.do(i, actions)
	return true
}

func (w *world) receive(i, j int) bool {
	t := w.transfer[j][i][0]
	x := w.instance[i]
	if d := x.Doing; w.broken == importOnce && d != nil {
		d.Taken = slices.DeleteFunc(d.Taken, func(o Origin) bool { return o.Key == t.Key })
	}
	var parked []Read[message]
	if x.Doing != nil {
		parked = x.Doing.Parked
	}
	actions, waits := x.Receive(t)
	if waits {
		return false
	}
	w.transfer[j][i] = w.transfer[j][i][1:]
	if w.broken == endsFree && t.End && x.Doing != nil {
		x.Doing.Parked = parked
		actions = slices.DeleteFunc(actions, func(a Action[message]) bool { return a.Do == Process })
	}
	w.do(i, actions)
	if w.broken == durableBeforeAck && w.instanceCrashes > 0 && !t.End {
		w.instanceCrashes-- // it has told the machine, and a crash loses the state
		w.cells[i][index([]byte(t.Key))] = cell{}
	}
	return true
}

// export sends the state of what leaves an instance.
func (w *world) export(i int) []Transfer {
	x := w.instance[i]
	var held iter.Seq[string] = func(yield func(string) bool) {
		for k := range keys {
			if w.cells[i][k].status == active && !yield(string(letters[k])) {
				return
			}
		}
	}
	list, err := x.Exports(held, func(key string) ([]byte, error) {
		return bytes.Clone(w.cells[i][index([]byte(key))].last[:]), nil
	})
	if err != nil {
		w.fail("i%d: %v", i, err)
	}
	for _, t := range list {
		w.transfer[i][t.To] = append(w.transfer[i][t.To], t)
	}
	return list
}

func (w *world) exported(i int, list []Transfer) {
	for _, t := range list {
		w.cells[i][index([]byte(t.Key))].status = kept
	}
	actions := w.instance[i].Exported(list)
	d := w.instance[i].Doing
	if w.broken == ackAfterEnds {
		actions = append(actions, Action[message]{Do: SendAck, Version: d.Version, Epoch: d.ExecutorEpoch})
	}
	w.do(i, actions)
}

// restart has an instance begin from what is durable.
func (w *world) restart(i int) {
	encoded, err := json.Marshal(w.instance[i].Record)
	if err != nil {
		w.fail("i%d: %v", i, err)
	}
	var record Record[message]
	if err := json.Unmarshal(encoded, &record); err != nil {
		w.fail("i%d: %v", i, err)
	}
	if w.broken == recordIsDurable {
		record = Record[message]{}
	}
	w.unsent[i] = nil
	x := NewInstance(int32(i), w.mode, record)
	w.instance[i] = x
	w.watched[i] = w.now()
	actions := x.See(w.view())
	for _, a := range x.Resume() {
		same := func(b Action[message]) bool { return a.Do == b.Do && a.Transfer.To == b.Transfer.To }
		if !slices.ContainsFunc(actions, same) {
			actions = append(actions, a)
		}
	}
	w.do(i, actions)
}

// The service and its driver.

func (w *world) start() {
	w.counter++
	w.planning = w.next + 1
	w.next++
	w.pending = &Pending{Version: w.counter, Routers: map[string]int64{}, ExecutorEpoch: w.epoch}
	for r, epoch := range w.registered {
		isLost := w.life[r] == slow || w.life[r] == out
		if epoch > 0 && !(isLost && w.broken == lostAreAwaited) {
			w.pending.Routers[names[r]] = epoch
		}
	}
	w.pending.Awaits = w.awaited()
	w.acks = 0
	w.startDriver()
}

func (w *world) startDriver() {
	w.driver, w.drove = NewDriver(w.epoch), seen{}
	w.inform()
}

// inform has the driver see what is new, unless it does so in its own time.
func (w *world) inform() {
	if !w.behind {
		w.drive()
	}
}

// drive has the driver see the view.
func (w *world) drive() {
	w.drove = w.now()
	w.call(w.driver.See(w.view().Pending))
}

func (w *world) call(calls []Call, _ bool) {
	for _, c := range calls {
		p := w.pending
		if p == nil || p.Version != c.Version || c.Epoch < p.ExecutorEpoch {
			continue
		}
		switch c.Do {
		case PostAck:
			if p.Aborting && w.broken != noAckAfterAbort {
				continue
			}
			w.acks |= 1 << c.Instance
			if !slices.ContainsFunc(p.Awaits, func(i int32) bool { return w.acks>>i&1 == 0 }) {
				w.commit()
			}
		case PostAbort:
			p.Aborting = true
			if w.broken == twoPhases {
				w.end()
				continue
			}
			w.inform()
		case PostRolledBack:
			w.end()
		case Fence:
			for _, to := range c.To {
				epoch := c.RouterEpoch
				if w.broken == fencedEpochs {
					epoch--
				}
				w.put(slices.Index(names[:], c.Router), Append[message]{To: to, Epoch: epoch, Marker: c.Version})
			}
		}
	}
}

func (w *world) commit() {
	w.version, w.plan, w.pending = w.pending.Version, w.planning, nil
	for k := range keys {
		if n, where := w.copies(k); n > 1 || n == 1 && where != int(w.routes[w.plan][k]) {
			w.fail("committed: %c has %d copies, one at i%d; its route is i%d", 'a'+k, n, where, w.routes[w.plan][k])
		}
	}
}

// end ends an abort, by a new version of the same table.
func (w *world) end() {
	w.counter++
	w.version, w.pending = w.counter, nil
}

func (w *world) deliver(n int) {
	m := w.mail[n]
	w.mail = slices.Delete(w.mail, n, n+1)
	p := w.pending
	if p == nil || p.Version != m.version {
		return
	}
	if m.epoch < p.ExecutorEpoch {
		if w.broken != fencedAckAgain {
			w.do(int(m.instance), w.instance[m.instance].Fenced(m.version, p.ExecutorEpoch))
		}
		return
	}
	if w.broken == noAckAfterAbort && !m.vote {
		w.call([]Call{{Do: PostAck, Version: m.version, Epoch: w.epoch, Instance: m.instance}}, false)
		return
	}
	if w.broken == earlyIsKept && w.drove.pending < m.version {
		return
	}
	if m.vote {
		w.call(w.driver.Voted(m.instance, m.version), false)
	} else {
		w.call(w.driver.Acked(m.instance, m.version), false)
	}
}

// key tells worlds apart.
func (w *world) key() string {
	b := make([]byte, 0, 512)
	num := func(x int64) { b = binary.AppendVarint(b, x) }
	flag := func(x bool) {
		if x {
			b = append(b, 1)
		} else {
			b = append(b, 0)
		}
	}
	view := func(s seen) { num(s.version); num(s.pending); num(s.epoch); flag(s.aborting) }
	num(w.counter)
	num(int64(w.plan))
	num(int64(w.next))
	num(w.epoch)
	for _, left := range []int{w.aborts, w.routerCrashes, w.instanceCrashes, w.expiries, w.takeovers, w.joins} {
		b = append(b, byte(left))
	}
	b = append(b, w.acks)
	view(w.now())
	if w.pending != nil {
		view(w.drove)
		flag(w.driver.aborts)
		for r := range routers {
			num(w.pending.Routers[names[r]])
		}
		for i := range int32(instances) {
			flag(w.driver.votes[i])
			flag(w.behind && w.driver.acks[i])
		}
		for r := range routers {
			num(w.driver.fences[names[r]])
		}
	}
	for r := range routers {
		x := w.router[r]
		num(w.registered[r])
		b = append(b, byte(w.life[r]))
		view(w.saw[r])
		num(x.epoch)
		num(x.marked)
		b = append(b, byte(len(x.held)))
		for _, h := range x.held {
			b = append(b, h.message.Key, h.message.N)
		}
		b = append(b, w.handed[r][:]...)
		b = append(b, w.left[r][:]...)
		for i := range instances {
			num(w.appended[r][i])
			b = append(b, byte(len(w.channel[r][i])))
			for _, a := range w.channel[r][i] {
				num(a.Epoch)
				num(a.Marker)
				b = append(b, a.Message.Key, a.Message.N)
			}
		}
	}
	for i := range instances {
		view(w.watched[i])
		x := w.instance[i]
		num(x.Ended)
		for r := range routers {
			num(x.Markers[names[r]].Version)
			num(x.Markers[names[r]].Epoch)
			num(w.highest[i][r])
		}
		if d := x.Doing; d == nil {
			b = append(b, 0)
		} else {
			num(d.Version)
			num(d.ExecutorEpoch)
			flag(d.Exported)
			flag(d.Voted)
			b = append(b, byte(len(d.Given)))
			for _, k := range d.Given {
				b = append(b, k[0])
			}
			b = append(b, byte(len(d.Taken)))
			for _, o := range d.Taken {
				b = append(b, o.Key[0], byte(o.From))
			}
			b = append(b, byte(len(d.Ends)))
			for _, e := range d.Ends {
				b = append(b, byte(e))
			}
			b = append(b, byte(len(d.Parked)))
			for _, m := range d.Parked {
				b = append(b, m.Router[1], m.Message.Key, m.Message.N)
			}
		}
		for k := range keys {
			b = append(b, byte(w.cells[i][k].status))
			b = append(b, w.cells[i][k].last[:]...)
		}
		b = append(b, byte(len(w.unsent[i])))
		for _, a := range w.unsent[i] {
			b = append(b, byte(a.Do), byte(a.Transfer.To))
			num(a.Epoch)
			num(a.Version)
		}
		for j := range instances {
			b = append(b, byte(len(w.transfer[i][j])))
			for _, t := range w.transfer[i][j] {
				num(t.Version)
				flag(t.End)
				b = append(b, t.Key...)
				b = append(b, t.State...)
			}
		}
	}
	sorted := slices.Clone(w.mail)
	slices.SortFunc(sorted, func(a, b mail) int { return int(a.code() - b.code()) })
	for _, m := range sorted {
		num(m.code())
	}
	return string(b)
}

func (m mail) code() int64 {
	code := m.version<<16 | m.epoch<<8 | int64(m.instance)<<1
	if m.vote {
		code++
	}
	return code
}
