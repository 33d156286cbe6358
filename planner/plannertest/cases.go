package plannertest

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"

	"plannerd/planner"
)

// Case is a snapshot and options in rows, which tests can take apart, change
// and print.
type Case struct {
	Instances   []planner.Instance
	Items       []Item
	Absent      []planner.Entry // table entries of keys that are no items
	NoState     bool            // State is nil
	Counted     bool            // Count is not nil
	TableKnown  bool            // Table is not nil
	Partial     bool
	HashChanged bool
	Open        [][]bool           // by class and instance: where items may be; nil: on all live ones
	Resources   []planner.Resource // beside cost; then Instances have Capacities and ResidualAmounts
	Options     planner.Options
}

// Item is one row of a Case. Current and Hash are indices into Instances; Entry
// is the id of the instance in the item's table entry, or NoInstance.
type Item struct {
	Key           string
	Cost, State   float64
	Count         int64
	Current, Hash int32
	Entry         int32
	Class         int32
	Pinned        bool
	Amounts       []float64 // of each resource; of those from state or count they do not count
}

// Snapshot builds the snapshot of the case.
func (c *Case) Snapshot() *planner.Snapshot {
	s := &planner.Snapshot{Instances: c.Clone().Instances, Keys: planner.NewKeys(len(c.Items)),
		Partial: c.Partial, HashChanged: c.HashChanged, Eligibility: c.eligibility()}
	entries := slices.Clone(c.Absent)
	for _, it := range c.Items {
		s.Keys.Append([]byte(it.Key))
		s.Cost = append(s.Cost, it.Cost)
		s.Current = append(s.Current, it.Current)
		s.Hash = append(s.Hash, it.Hash)
		if !c.NoState {
			s.State = append(s.State, it.State)
		}
		if c.Counted {
			s.Count = append(s.Count, it.Count)
		}
		if it.Entry != planner.NoInstance {
			entries = append(entries, planner.Entry{Key: []byte(it.Key), Instance: it.Entry})
		}
	}
	c.amounts(s)
	if !c.TableKnown {
		return s
	}
	t, err := planner.NewRoutingTable(entries)
	if err != nil {
		panic(err)
	}
	s.Table = t
	if t.Len() > 0 {
		for _, it := range c.Items {
			s.Entry = append(s.Entry, int32(t.Find([]byte(it.Key), planner.KeyHash([]byte(it.Key)))))
		}
	}
	return s
}

// Clone returns a deep copy, but for what options point to.
func (c *Case) Clone() *Case {
	d := *c
	d.Instances, d.Items, d.Absent = slices.Clone(c.Instances), slices.Clone(c.Items), slices.Clone(c.Absent)
	d.Resources = slices.Clone(c.Resources)
	for i := range d.Items {
		d.Items[i].Amounts = slices.Clone(d.Items[i].Amounts)
	}
	for i := range d.Instances {
		in := &d.Instances[i]
		in.Capacities, in.ResidualAmounts = slices.Clone(in.Capacities), slices.Clone(in.ResidualAmounts)
	}
	return &d
}

// Apply returns the case after a plan was carried out and committed.
func (c *Case) Apply(p *planner.Plan) *Case {
	d := c.Clone()
	a, s := AssignmentOf(p), p.Snapshot
	d.Items, d.HashChanged = nil, false
	for i, it := range c.Items {
		for at, n := range a[i] {
			if n == 0 {
				continue
			}
			moved := it
			moved.Current, moved.Count, moved.Entry = int32(at), n, planner.NoInstance
			if moved.Current != it.Hash && c.TableKnown {
				moved.Entry = s.Instances[at].ID
			}
			if n < it.Count && at != int(it.Current) {
				moved.Key = fmt.Sprintf("%s@%d", it.Key, at) // a class of its own from now on
			}
			d.Items = append(d.Items, moved)
		}
	}
	d.Absent = slices.DeleteFunc(d.Absent, func(e planner.Entry) bool { return !staysAbsent(s, e.Instance) })
	for i := range d.Instances {
		d.Instances[i].Added = false
	}
	return d
}

// Shrink takes parts of a failing case away as long as it still fails.
func (c *Case) Shrink(fails func(*Case) bool) *Case {
	for again := true; again; {
		again = false
		for _, smaller := range c.smaller() {
			if fails(smaller) {
				c, again = smaller, true
				break
			}
		}
	}
	return c
}

// smaller lists the cases that are a step simpler.
func (c *Case) smaller() []*Case {
	var cases []*Case
	with := func(change func(*Case)) {
		d := c.Clone()
		change(d)
		if d.String() != c.String() {
			cases = append(cases, d)
		}
	}
	for i := range c.Items {
		with(func(d *Case) { d.Items = slices.Delete(d.Items, i, i+1) })
	}
	for i := range c.Absent {
		with(func(d *Case) { d.Absent = slices.Delete(d.Absent, i, i+1) })
	}
	with(func(d *Case) { d.Options.TableLimit = nil })
	with(func(d *Case) { d.Options.Beta = nil })
	with(func(d *Case) { d.Options.KeyOverhead = 0 })
	with(func(d *Case) { d.Options.ThetaMax = 0 })
	with(func(d *Case) { d.Options.ThetaMin = nil })
	with(func(d *Case) { d.NoState = true })
	with(func(d *Case) { d.Open = nil })
	with(func(d *Case) { d.HashChanged = false })
	with(func(d *Case) {
		d.TableKnown, d.Absent = false, nil
		for i := range d.Items {
			d.Items[i].Entry = planner.NoInstance
		}
	})
	for i := range c.Instances {
		with(func(d *Case) { d.Instances[i].Capacity = 1 })
		with(func(d *Case) { d.Instances[i].Added = false })
		with(func(d *Case) { d.Instances[i].Filling = false })
		with(func(d *Case) { d.Instances[i].Frozen = false })
		with(func(d *Case) { d.Instances[i].Partial = false })
		with(func(d *Case) {
			d.Instances[i].ResidualCost, d.Instances[i].ResidualState, d.Instances[i].ResidualKeys = 0, 0, 0
		})
	}
	for i, it := range c.Items {
		with(func(d *Case) { d.Items[i].Count = 1 })
		with(func(d *Case) { d.Items[i].Pinned = false })
		with(func(d *Case) { d.Items[i].Class = 0 })
		with(func(d *Case) { d.Items[i].Current = it.Hash })
		with(func(d *Case) { d.Items[i].Cost = less(it.Cost) })
		with(func(d *Case) { d.Items[i].State = less(it.State) })
	}
	for _, change := range c.simplerResources() {
		with(change)
	}
	return cases
}

// less is a simpler number of those below.
func less(x float64) float64 {
	switch {
	case x > 1e6:
		return math.Floor(math.Sqrt(x))
	case x > 100 || x < 1:
		return math.Floor(x / 2)
	case x > math.Floor(x):
		return math.Floor(x)
	}
	return x - 1
}

// String prints the case as a Go literal.
func (c *Case) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "plannertest.Case{\n\tNoState: %t, Counted: %t, TableKnown: %t, Partial: %t, HashChanged: %t,\n",
		c.NoState, c.Counted, c.TableKnown, c.Partial, c.HashChanged)
	o := c.Options
	fmt.Fprintf(&b, "\tOptions: planner.Options{ThetaMax: %v, KeyOverhead: %v", o.ThetaMax, o.KeyOverhead)
	if o.TableLimit != nil {
		fmt.Fprintf(&b, ", TableLimit: new(int64(%d))", *o.TableLimit)
	}
	if o.ThetaMin != nil {
		fmt.Fprintf(&b, ", ThetaMin: new(float64(%v))", *o.ThetaMin)
	}
	if o.Beta != nil {
		fmt.Fprintf(&b, ", Beta: new(float64(%v))", *o.Beta)
	}
	if o.Sigma != nil {
		fmt.Fprintf(&b, ", Sigma: new(float64(%v))", *o.Sigma)
	}
	if m := o.MigrationLimit; m != nil {
		fmt.Fprintf(&b, ", Objective: %q, MigrationLimit: &planner.MigrationLimit{Unit: %q, Amount: %v}", o.Objective,
			m.Unit, m.Amount)
	}
	b.WriteString("},\n\tInstances: []planner.Instance{\n")
	for _, in := range c.Instances {
		fmt.Fprintf(&b, "\t\t%s,\n", literal(in))
	}
	b.WriteString("\t},\n\tItems: []plannertest.Item{\n")
	for _, it := range c.Items {
		fmt.Fprintf(&b, "\t\t{Key: %q, Cost: %v, State: %v, Count: %d, Current: %d, Hash: %d, Entry: %d, ",
			it.Key, it.Cost, it.State, it.Count, it.Current, it.Hash, it.Entry)
		fmt.Fprintf(&b, "Class: %d, Pinned: %t, Amounts: %#v},\n", it.Class, it.Pinned, it.Amounts)
	}
	fmt.Fprintf(&b, "\t},\n%s\tResources: []planner.Resource{\n", c.rulesString())
	for _, of := range c.Resources {
		fmt.Fprintf(&b, "\t\t%s,\n", literal(of))
	}
	b.WriteString("\t},\n")
	b.WriteString("\tAbsent: []planner.Entry{")
	for _, e := range c.Absent {
		fmt.Fprintf(&b, "{Key: []byte(%q), Instance: %d}, ", e.Key, e.Instance)
	}
	b.WriteString("},\n}")
	return b.String()
}

var nothing = regexp.MustCompile(`\w+:(0x0|0|false|""|\[\]float64\(nil\))(, |})`)

// literal prints a struct of the planner as an element of a list, without what is 0.
func literal(x any) string {
	_, text, _ := strings.Cut(nothing.ReplaceAllString(fmt.Sprintf("%#v", x), ""), "{")
	return "{" + strings.TrimSuffix(strings.TrimSuffix(text, "}"), ", ") + "}"
}

// Tiny makes a random case of at most 8 keys on at most 3 live instances, small
// enough for [Optimum], with everything that can go wrong.
func Tiny(r *rand.Rand) *Case {
	c := &Case{NoState: r.IntN(6) == 0, Counted: r.IntN(4) == 0, Partial: r.IntN(4) == 0}
	live := 1 + r.IntN(3)
	freeze := r.IntN(5) == 0
	c.Instances = instances(r, live, cmp.Or(r.IntN(3), r.IntN(2)) == 1, freeze)
	c.HashChanged = (c.changed() && r.IntN(4) > 0 || r.IntN(12) == 0) && !freeze
	units := 1 + r.IntN(8)
	for n := 0; n < units; {
		it := c.item(r, len(c.Items), 1+r.IntN(10))
		if c.Counted {
			it.Count = min(1+int64(r.IntN(3)), int64(units-n))
		}
		n += int(it.Count)
		c.Items = append(c.Items, it)
	}
	if r.IntN(8) == 0 {
		c.Items[r.IntN(len(c.Items))].Cost = float64(20 + r.IntN(40)) // likely hot
	}
	if !c.Counted && r.IntN(2) == 0 {
		c.table(r)
	}
	if c.Partial {
		c.residuals(r)
	}
	c.options(r, 1+units)
	return c
}

// Medium makes a random case of keys items with Zipf costs on live instances.
func Medium(r *rand.Rand, keys, live int) *Case {
	c := &Case{NoState: r.IntN(8) == 0, Counted: r.IntN(5) == 0, Partial: r.IntN(5) == 0}
	freeze := r.IntN(5) == 0
	c.Instances = instances(r, live, r.IntN(3) == 0, freeze)
	c.HashChanged = c.changed() && !freeze
	z := 0.2 + 1.2*r.Float64()
	for i := range keys {
		it := c.item(r, i, 3)
		it.Cost = zipf(i, z)
		it.State = float64(r.IntN(1 + int(it.Cost)*2))
		if c.Counted {
			it.Count = 1 + int64(r.IntN(4))
		}
		c.Items = append(c.Items, it)
	}
	r.Shuffle(keys, func(i, j int) {
		c.Items[i], c.Items[j] = c.Items[j], c.Items[i]
	})
	if !c.Counted && r.IntN(2) == 0 {
		c.table(r)
	}
	if c.Partial {
		c.residuals(r)
	}
	c.options(r, keys/2)
	return c
}
