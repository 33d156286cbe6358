package merging

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"plannerd/internal/input/internal/problem"
	"plannerd/planner"
)

// ErrMixedState says that of reports to be merged some have the state of their
// keys and others have not.
var ErrMixedState = errors.New("some reports name the state of their keys and others do not")

// Report is the share of one instance in the statistics of an interval.
type Report struct {
	Instance int32
	// Carried: it is of an earlier interval and stands in for the one that is
	// missing. What others say about a key makes it void, unless Place puts the key
	// on Instance.
	Carried bool
	// Outdated: it is of an older routing table than the committed one, which
	// knows better where its keys are. Keys may have come to Instance since that
	// nobody names: where they came from the report may be of the newer table.
	Outdated bool
	Blob     []byte // of EncodeReport
}

// Place is where the committed routing table, else the committed hash puts a key,
// or NoInstance if that is not known. hash is [planner.KeyHash] of key, home the
// hash instance that its reports name, or NoInstance.
type Place func(key []byte, hash uint64, home int32) int32

// Merged is what reports make together.
type Merged struct {
	*planner.Statistics
	// Drifted counts keys that stand in several reports and those that are left
	// where they are, but for those that [planner.NewSnapshot] counts anyway: they
	// are not where Place puts them.
	Drifted int64
}

// MergeReports makes the statistics of an interval of the reports of its
// instances, which are in ascending order of their ids, each once. Frozen are the
// ids of instances of which nothing is known. Rows come in the order of the
// reports: by the hashes of their keys, then by the keys.
//
// A row is on the instance that reports it; NoInstance if the report is outdated.
// The costs and states of a key in several reports add up, and what it takes of resources. It is where Place puts
// it, if that is one of them, else on the one that has most of its state, the
// lowest id among equals; its Shares tell what the others have. A row that only the table places, on a frozen instance,
// is left out, as are rows of carried reports that fresh ones make void. There may
// be unnamed keys on instances whose reports are carried, outdated or partial: a key
// that others name, but Place puts on one of these or on a frozen one, may have its
// state there, and only the owner can give it away. It is left where it is, and is a
// part of the residual of those who name it.
//
// Errors are [ErrMixedState], [blob.ErrCorrupt], a [problem.Error] when a sum is too great,
// and that of ctx.
func MergeReports(ctx context.Context, reports []Report, frozen []int32, place Place) (*Merged, error) {
	m := &merger{reports: reports, frozen: frozen, place: place}
	if err := m.open(); err != nil {
		return nil, err
	}
	if err := m.merge(ctx); err != nil {
		return nil, err
	}
	m.addLeft()
	m.out.Keys.HashAppended()
	slices.SortFunc(m.out.Costs, func(a, b planner.Amounts) int { return cmp.Compare(a.Name, b.Name) })
	return &Merged{Statistics: m.out, Drifted: m.drifted}, nil
}

// merger merges the rows of reports, one from each at a time.
type merger struct {
	reports []Report
	frozen  []int32
	place   Place
	readers []*reportReader
	out     *planner.Statistics
	// vague are the instances, ascending, that may have keys which their reports do
	// not name.
	vague   []int32
	drifted int64
	left    []planner.Residual // by report: its keys that are left where they are
	// leftCosts are what these take of resources, by report and by the place of the resource; nil: there
	// are none.
	leftCosts [][]float64

	// The key whose shares are being gathered.
	hash   uint64
	key    []byte
	shares []share
	costs  []float64 // of resources, that the shares have
	sum    []float64 // their sums
}

// share is what one report says about a key.
type share struct {
	report      int
	cost, state float64
	home        int32
	costs       []float64 // by the places of the resources; nil: there are none
}

// open reads the heads of all reports.
func (m *merger) open() error {
	m.out = &planner.Statistics{Keys: new(planner.Keys), Frozen: slices.Clone(m.frozen)}
	rows, with, without, homes := 0, false, false, false
	for i, report := range m.reports {
		r, err := openReport(report.Blob)
		if err != nil {
			return m.about(i, err)
		}
		m.readers = append(m.readers, r)
		rows += min(r.left, len(report.Blob)) // a hint: a damaged head must not claim the memory
		m.out.Partial = m.out.Partial || r.flags&reportPartial != 0
		m.out.Residual = append(m.out.Residual, r.residual...)
		if err := m.openCosts(r); err != nil {
			return err
		}
		partial := r.flags&reportPartial != 0
		if report.Carried || report.Outdated {
			m.out.PartialOn = append(m.out.PartialOn, report.Instance)
			partial = true
		}
		if partial {
			m.vague = append(m.vague, report.Instance)
		}
		if r.left > 0 { // one without keys has nothing to name the state of
			has := r.flags&reportState != 0
			with, without = with || has, without || !has
		}
		homes = homes || r.flags&reportHashInstance != 0
	}
	if with && without {
		return ErrMixedState
	}
	m.left = make([]planner.Residual, len(m.reports))
	m.roomForCosts(rows)
	m.out.Keys.GrowUnhashed(rows)
	m.out.Cost, m.out.Instance = make([]float64, 0, rows), make([]int32, 0, rows)
	if with {
		m.out.State = make([]float64, 0, rows)
	}
	if homes {
		m.out.HashInstance = make([]int32, 0, rows)
	}
	return nil
}

func (m *merger) about(report int, err error) error {
	return fmt.Errorf("report of instance %d: %w", m.reports[report].Instance, err)
}

// checkRows is after how many rows the context is asked again.
const checkRows = 1 << 16

// merge takes all rows in order and gathers those of one key.
func (m *merger) merge(ctx context.Context) error {
	t := newTournament(m.readers)
	for n := 0; ; n++ {
		if n%checkRows == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		i := t.winner()
		if i < 0 {
			break
		}
		row := t.row(i)
		if len(m.shares) == 0 || row.hash != m.hash || !bytes.Equal(row.key, m.key) {
			if err := m.close(); err != nil {
				return err
			}
			m.hash, m.key = row.hash, append(m.key[:0], row.key...)
		}
		m.shares = append(m.shares, share{
			report: i, cost: row.cost, state: row.state, home: row.home, costs: m.costsOf(m.readers[i]),
		})
		t.advance()
	}
	for i, r := range m.readers {
		if r.blob.Err != nil {
			return m.about(i, r.blob.Err)
		}
	}
	return m.close()
}

// close adds the key that was gathered, if there is one.
func (m *merger) close() error {
	if len(m.shares) == 0 {
		return nil
	}
	m.dropCarried()
	sum := share{home: m.home()}
	for _, s := range m.shares {
		sum.cost += s.cost
		sum.state += s.state
	}
	costs := m.sumOfCosts()
	if sum.cost > planner.MaxAmount || sum.state > planner.MaxAmount || slices.ContainsFunc(costs, isTooGreat) {
		return problem.One(problem.Invalid, "",
			fmt.Sprintf("key %q: what its reports say adds up to more than %g", m.key, planner.MaxAmount))
	}
	if m.isUnsettled(sum.home) {
		m.leave()
		m.shares = m.shares[:0]
		return nil
	}
	at := m.instance(sum.home)
	m.addShares(at)
	m.shares = m.shares[:0]
	for i, x := range costs {
		m.out.Costs[i].Rows = append(m.out.Costs[i].Rows, x)
	}
	m.out.Keys.AppendUnhashed(m.key)
	m.out.Cost, m.out.Instance = append(m.out.Cost, sum.cost), append(m.out.Instance, at)
	if m.out.State != nil {
		m.out.State = append(m.out.State, sum.state)
	}
	if m.out.HashInstance != nil {
		m.out.HashInstance = append(m.out.HashInstance, sum.home)
	}
	return nil
}

// dropCarried leaves what fresh reports say of the gathered key, if one does, and
// what is carried for the instance that the table puts it on: its state is there.
func (m *merger) dropCarried() {
	if len(m.shares) == 1 {
		return
	}
	carried := func(s share) bool { return m.reports[s.report].Carried }
	if !slices.ContainsFunc(m.shares, carried) ||
		!slices.ContainsFunc(m.shares, func(s share) bool { return !carried(s) }) {
		return
	}
	placed := m.place(m.key, m.hash, m.home())
	m.shares = slices.DeleteFunc(m.shares, func(s share) bool {
		return carried(s) &&
			m.reports[s.report].Instance != placed
	})
}

// home is the hash instance that the first share to name one gives the gathered
// key.
func (m *merger) home() int32 {
	for _, s := range m.shares {
		if s.home != planner.NoInstance {
			return s.home
		}
	}
	return planner.NoInstance
}

// isUnsettled reports whether the table puts the gathered key on an instance that
// may have it and did not say so: a frozen one, or one whose report is partial or too
// old to name it, while another has some of it now.
func (m *merger) isUnsettled(home int32) bool {
	if len(m.frozen)+len(m.vague) == 0 {
		return false
	}
	placed := m.place(m.key, m.hash, home)
	if _, frozen := slices.BinarySearch(m.frozen, placed); frozen {
		return true
	}
	if _, vague := slices.BinarySearch(m.vague, placed); !vague {
		return false
	}
	return !slices.ContainsFunc(m.shares, func(s share) bool { return m.reports[s.report].Instance == placed }) &&
		slices.ContainsFunc(m.shares, m.isCurrent)
}

// addShares notes how much of the state of the gathered key is where, if several
// instances have some. What outdated reports have of it is where the key is.
func (m *merger) addShares(at int32) {
	row, places, rest := int32(m.out.Keys.Len()), 0, 0.0
	for _, s := range m.shares {
		if m.reports[s.report].Instance == at || m.isCurrent(s) {
			places++
		} else {
			rest += s.state
		}
	}
	if places < 2 {
		return
	}
	for _, s := range m.shares {
		x := planner.Share{Row: row, Instance: m.reports[s.report].Instance, State: s.state, Idle: s.cost == 0}
		switch {
		case x.Instance == at && m.out.State != nil:
			x.State += rest
		case x.Instance != at && !m.isCurrent(s):
			continue
		}
		m.out.Shares = append(m.out.Shares, x)
	}
}

// isCurrent reports whether a share is where its report says.
func (m *merger) isCurrent(s share) bool { return !m.reports[s.report].Outdated }

// leave takes the gathered key for a part of the rest of those who have it now.
func (m *merger) leave() {
	drifted := false
	for _, s := range m.shares {
		if m.isCurrent(s) {
			left := &m.left[s.report]
			left.Cost, left.State, left.Keys = left.Cost+s.cost, left.State+s.state, left.Keys+1
			addAll(m.leftCosts[s.report], s.costs)
			drifted = true
		}
	}
	if drifted {
		m.drifted++
	}
}

// addLeft adds the keys that are left where they are to the residuals, which are
// in the order of the reports.
func (m *merger) addLeft() {
	for i, left := range m.left {
		if left.Keys == 0 {
			continue
		}
		left.Instance = m.reports[i].Instance
		at, found := slices.BinarySearchFunc(m.out.Residual, left.Instance,
			func(r planner.Residual, id int32) int { return cmp.Compare(r.Instance, id) })
		if !found {
			m.out.Residual = slices.Insert(m.out.Residual, at, planner.Residual{Instance: left.Instance})
		}
		r := &m.out.Residual[at]
		r.Cost, r.State, r.Keys = r.Cost+left.Cost, r.State+left.State, r.Keys+left.Keys
		for c := range m.out.Costs {
			x := &m.out.Costs[c]
			if !found {
				x.Residual = slices.Insert(x.Residual, at, 0)
			}
			x.Residual[at] += m.leftCosts[i][c]
		}
	}
}

// instance is where the gathered key is, NoInstance if only the table tells.
func (m *merger) instance(home int32) int32 {
	if first := &m.reports[m.shares[0].report]; len(m.shares) == 1 {
		if first.Outdated {
			return planner.NoInstance
		}
		return first.Instance
	}
	placed := m.place(m.key, m.hash, home)
	largest := -1
	for i, s := range m.shares {
		report := &m.reports[s.report]
		if report.Instance == placed {
			m.drifted++
			return placed
		}
		if !report.Outdated && (largest < 0 || s.state > m.shares[largest].state) {
			largest = i
		}
	}
	if largest < 0 {
		m.drifted++
		return planner.NoInstance
	}
	if placed == planner.NoInstance {
		m.drifted++
	}
	return m.reports[m.shares[largest].report].Instance
}

// tournament finds the reader with the least present row: by hash, then by key,
// then by its number. It is a tree of losers: going one on in the winner takes a
// match on each level, and no more.
type tournament struct {
	readers []*reportReader
	heads   []uint64 // hash of each reader's present row
	over    []bool   // it has none
	losers  []int32  // of the match in each inner node; the winner of all in 0
}

func newTournament(readers []*reportReader) *tournament {
	k := len(readers)
	t := &tournament{readers: readers, heads: make([]uint64, k), over: make([]bool, k), losers: make([]int32, max(k, 1))}
	t.losers[0] = -1
	winners := make([]int32, 2*k)
	for i := range readers {
		t.load(i)
		winners[k+i] = int32(i)
	}
	for node := k - 1; node >= 1; node-- {
		a, b := winners[2*node], winners[2*node+1]
		if t.less(b, a) {
			a, b = b, a
		}
		winners[node], t.losers[node] = a, b
	}
	if k > 0 {
		t.losers[0] = winners[1] // with one reader that is its leaf
	}
	return t
}

// winner is the number of the reader with the least row, −1 when all are over.
func (t *tournament) winner() int {
	if i := int(t.losers[0]); i >= 0 && !t.over[i] {
		return i
	}
	return -1
}

// advance goes to the next row of the winner.
func (t *tournament) advance() {
	i := t.losers[0]
	t.load(int(i))
	for node := (int(i) + len(t.readers)) / 2; node >= 1; node /= 2 {
		if t.less(t.losers[node], i) {
			t.losers[node], i = i, t.losers[node]
		}
	}
	t.losers[0] = i
}

func (t *tournament) load(i int) {
	r := t.readers[i]
	if t.over[i] = !r.next(); !t.over[i] {
		t.heads[i] = r.rows[r.at].hash
	}
}

// row is the present row of a reader.
func (t *tournament) row(i int) *reportRow { return &t.readers[i].rows[t.readers[i].at] }

func (t *tournament) less(a, b int32) bool {
	if t.over[a] || t.over[b] {
		return !t.over[a] && t.over[b]
	}
	if x, y := t.heads[a], t.heads[b]; x != y {
		return x < y
	}
	if c := bytes.Compare(t.row(int(a)).key, t.row(int(b)).key); c != 0 {
		return c < 0
	}
	return a < b
}
