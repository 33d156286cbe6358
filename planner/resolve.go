package planner

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"

	"plannerd/planner/internal/assign"
)

// NewSnapshot resolves the statistics of an interval: where each key is (F) and
// where the target configuration's hash puts it (h).
//
// F is the row's instance, unless base.IgnoreInstances; else the committed
// table's entry; else the committed configuration's hash. Instances of the
// committed or of the target configuration are known ones; those that the target
// lacks are drained. The error is an [InputError], or [ErrStopped].
func NewSnapshot(stats *Statistics, target Configuration, base Base) (*Snapshot, error) {
	r := resolver{stats: stats, target: target, base: base}
	if err := stats.validateColumns(); err != nil {
		return nil, err
	}
	if err := validateInstances("Instances", target.Instances); err != nil {
		return nil, err
	}
	if old := base.Configuration.Instances; len(old) > 0 {
		if err := validateInstances("Base.Configuration.Instances", old); err != nil {
			return nil, err
		}
	}
	r.mergeInstances()
	r.addHomeless()
	if err := r.markCoverage(); err != nil {
		return nil, err
	}
	if err := r.addResiduals(); err != nil {
		return nil, err
	}
	n := stats.Len()
	r.s.Keys, r.s.Cost, r.s.State, r.s.Count = stats.Keys, stats.Cost, stats.State, stats.Count
	r.s.Named = stats.Named
	r.s.Retained = base.Retained
	r.s.Current, r.s.Hash = make([]int32, n), make([]int32, n)
	r.s.Table, r.s.Kept, r.s.Partial, r.s.HashChanged = base.Table, base.Kept, stats.Partial, base.HashChanged
	if target.Placement != nil {
		r.rule = make([]int32, n)
	}
	if base.Table.Len() > 0 {
		r.s.Entry = make([]int32, n)
	}
	if err := r.rows(n); err != nil {
		return nil, err
	}
	if err := r.findSplits(); err != nil {
		return nil, err
	}
	if err := r.refuseFrozen(); err != nil {
		return nil, err
	}
	if err := r.s.findResources(target, stats); err != nil {
		return nil, err
	}
	if err := r.addShares(); err != nil {
		return nil, err
	}
	r.divideState()
	r.runOut()
	if err := r.s.restrict(target, r.rule); err != nil {
		return nil, err
	}
	return &r.s, nil
}

// rowsPerStop is how many rows are resolved between two questions whether to stop.
const rowsPerStop = 1 << 16

// rows resolves F and h of all rows.
func (r *resolver) rows(n int) error {
	var drifted [assign.MostParts]int64
	var failed [assign.MostParts]error
	assign.InParts(n, func(part, from, to int) {
		for i := from; i < to && failed[part] == nil; i++ {
			if (i-from)%rowsPerStop == 0 && r.base.Stop != nil && r.base.Stop() {
				failed[part] = ErrStopped
				return
			}
			drifts, err := r.row(i)
			if drifts {
				drifted[part]++
			}
			failed[part] = err
		}
	})
	for part, err := range failed {
		if err != nil {
			return err // the first row's that is wrong
		}
		r.s.Drifted += drifted[part]
	}
	return nil
}

// addShares finds the shares that are elsewhere than their keys. One without state has
// nothing to gather: its instance has given the key away in the interval.
func (r *resolver) addShares() error {
	shares := r.stats.Shares
	if len(shares) == 0 || r.base.IgnoreInstances {
		return nil
	}
	r.s.State = slices.Clone(r.s.State)
	for i, x := range shares {
		x.Instance = r.index.find(x.Instance)
		switch {
		case x.Row < 0 || int(x.Row) >= r.s.Len() || !r.s.isKey(int(x.Row)) || !isAmount(x.State) ||
			i > 0 && shares[i-1].Compare(shares[i]) >= 0:
			return Invalid("Shares", "must ascend, and have amounts of rows that count one key")
		case x.Instance < 0 || r.s.Instances[x.Instance].Frozen:
			return InvalidRow(int(x.Row), "Instance", "is not a known instance, or a frozen one")
		}
		if r.s.State != nil && (i == 0 || shares[i-1].Row != x.Row) {
			r.s.State[x.Row] = 0 // unless a share is there
		}
		switch {
		case x.Instance != r.s.Current[x.Row]:
			if x.State > 0 || x.Idle && r.base.PartsExpire { // one that runs out is still merged
				r.s.Shares = append(r.s.Shares, x)
			}
		case r.s.State != nil:
			r.s.State[x.Row] = x.State
		}
	}
	return nil
}

type resolver struct {
	stats  *Statistics
	target Configuration
	base   Base
	index  instanceIndex
	rule   []int32 // by row: the rule of its key, or −1; nil without rules
	s      Snapshot
}

// validateColumns checks that the columns are as long as the list of keys.
func (s *Statistics) validateColumns() error {
	n := s.Keys.Len()
	if len(s.Cost) != n || s.State != nil && len(s.State) != n ||
		s.Instance != nil && len(s.Instance) != n || s.HashInstance != nil && len(s.HashInstance) != n ||
		s.Count != nil && len(s.Count) != n {
		return Invalid("Keys", "the columns differ in length")
	}
	if s.Named < 0 || s.Named > len(s.Count) {
		return Invalid("Named", "must be at most the number of rows with a count")
	}
	if err := s.validateCosts(); err != nil {
		return err
	}
	units := int64(0)
	for i, count := range s.Count {
		if count < 1 || count > MaxCount-units {
			return InvalidRow(i, "Count", mustBeCount)
		}
		if i >= n-s.Named && count != 1 {
			return InvalidRow(i, "Count", "must be 1 of a key that is named")
		}
		units += count
	}
	return nil
}

// ValidateAmounts reports the first row whose key is empty, or whose cost or state is
// out of range, as an [InputError]. [NewSnapshot] does so, too; other schemes than
// routing tables take these three columns alone.
func (s *Statistics) ValidateAmounts() error {
	if err := s.validateColumns(); err != nil {
		return err
	}
	for i := range s.Len() {
		if len(s.Keys.At(i)) == 0 {
			return InvalidRow(i, "Key", "must not be empty")
		}
		if err := s.validateAmounts(i); err != nil {
			return err
		}
	}
	return nil
}

func (s *Statistics) validateAmounts(row int) error {
	switch {
	case !isAmount(s.Cost[row]):
		return InvalidRow(row, "Cost", mustBeAmount)
	case s.State != nil && !isAmount(s.State[row]):
		return InvalidRow(row, "State", mustBeAmount)
	}
	return nil
}

// mergeInstances lists the instances of the committed and of the target
// configuration.
func (r *resolver) mergeInstances() {
	old, now := r.base.Configuration.Instances, r.target.Instances
	out := make([]Instance, 0, len(now)+len(old))
	for len(old) > 0 || len(now) > 0 {
		switch {
		case len(now) == 0 || len(old) > 0 && old[0].ID < now[0].ID:
			out = append(out, Instance{ID: old[0].ID, Name: old[0].Name, Capacity: old[0].Capacity, Drained: true})
			old = old[1:]
		case len(old) == 0 || now[0].ID < old[0].ID:
			out = append(out, configured(now[0]))
			out[len(out)-1].Added = true
			now = now[1:]
		default:
			out = append(out, configured(now[0]))
			old, now = old[1:], now[1:]
		}
	}
	for i := range out {
		out[i].Filling = !out[i].Drained && slices.Contains(r.base.Filling, out[i].ID)
	}
	r.s.Instances = out
	r.index = newInstanceIndex(out)
}

// configured is what counts of an instance of a configuration.
func configured(d Instance) Instance {
	return Instance{ID: d.ID, Name: d.Name, Capacity: d.Capacity, Capacities: d.Capacities, Cordoned: d.Cordoned}
}

// addHomeless adds what stands for the hash instance of keys of which nobody knows it.
func (r *resolver) addHomeless() {
	last := r.s.Instances[len(r.s.Instances)-1].ID
	homes := r.stats.HashInstance
	if !r.base.PinHomeless || r.target.Hash != nil || last == math.MaxInt32 ||
		homes != nil && !slices.Contains(homes, NoInstance) {
		return
	}
	r.s.Homeless = true
	r.s.Instances = append(r.s.Instances, Instance{ID: last + 1, Capacity: 1, Frozen: true, Partial: true})
}

func (r *resolver) addResiduals() error {
	seen := make(map[int32]bool, len(r.stats.Residual))
	for i, v := range r.stats.Residual {
		bad := func(field, detail string) error {
			return Invalid(Element("Residual", i)+"."+field, detail)
		}
		at := r.index.find(v.Instance)
		switch {
		case at < 0:
			return bad("Instance", "is not a known instance")
		case seen[v.Instance]:
			return bad("Instance", "stands twice")
		case r.s.Instances[at].Frozen:
			return bad("Instance", isFrozen)
		case !isAmount(v.Cost):
			return bad("Cost", mustBeAmount)
		case !isAmount(v.State):
			return bad("State", mustBeAmount)
		case v.Keys < 0 || v.Keys > MaxResidualKeys:
			return bad("Keys", "must be between 0 and 2^53−1")
		}
		seen[v.Instance] = true
		d := &r.s.Instances[at]
		d.ResidualCost, d.ResidualState, d.ResidualKeys = v.Cost, v.State, v.Keys
	}
	return nil
}

const (
	mustBeAmount   = "must be ≥ 0 and at most 1e290"
	mustBeCount    = "must be ≥ 1, and all together at most 2^53−1"
	mustBeCapacity = "must be between 1e-6 and 1e6"
)

// row resolves F and h of row i, and tells whether the key drifted.
func (r *resolver) row(i int) (drifts bool, err error) {
	bad := func(field, detail string) (bool, error) {
		return false, InvalidRow(i, field, detail)
	}
	if err := r.stats.validateAmounts(i); err != nil {
		return false, err
	}
	key, hash := r.stats.Keys.At(i), r.stats.Keys.Hash(i)
	reported := at(r.stats.HashInstance, i, NoInstance)
	h := reported
	class := r.s.Named > 0 && !r.s.isKey(i)
	if r.target.Hash != nil && !class {
		if reported != NoInstance {
			return bad("HashInstance", `is taken only with the hash function "reported"`)
		}
		id, err := r.target.Hash.Instance(key, hash)
		if err != nil {
			return bad("Key", err.Error())
		}
		h = id
	} else if reported == NoInstance && !r.s.Homeless {
		return bad("HashInstance", `is needed with the hash function "reported"`)
	}
	home := r.index.find(h)
	if h == NoInstance {
		home = int32(len(r.s.Instances) - 1)
	}
	if home < 0 || r.s.Instances[home].Drained {
		return bad("HashInstance", "is not an instance of the configuration")
	}
	r.s.Hash[i] = home
	if r.rule != nil {
		r.rule[i] = int32(r.target.Placement.Rule(key, hash))
	}

	entry := -1
	if !class {
		entry = r.base.Table.Find(key, hash)
	}
	if r.s.Entry != nil {
		r.s.Entry[i] = int32(entry)
	}
	said := at(r.stats.Instance, i, NoInstance)
	if class {
		return false, r.classAt(i, said)
	}
	if r.base.IgnoreInstances {
		said = NoInstance
	}
	placed, err := r.placed(i, entry, h)
	if said == NoInstance {
		if err != nil {
			return false, err
		}
		r.s.Current[i] = placed
		return false, nil
	}
	current := r.index.find(said)
	if current < 0 {
		return bad("Instance", "is not a known instance")
	}
	r.s.Current[i] = current
	return err == nil && r.base.Table != nil && placed != current, nil
}

// classAt has the class of row i be where it says.
func (r *resolver) classAt(i int, said int32) error {
	current := r.index.find(said)
	if current < 0 {
		return InvalidRow(i, "Instance", "is not a known instance")
	}
	r.s.Current[i] = current
	return nil
}

// placed is where the committed table, else the committed hash puts row i, as an
// index; h is the id that the target's hash gives it.
func (r *resolver) placed(i, entry int, h int32) (int32, error) {
	id := h
	switch {
	case entry >= 0:
		id = r.base.Table.At(entry).Instance
	case !r.base.HashChanged && h != NoInstance:
	case !r.base.HashChanged:
		return 0, InvalidRow(i, "HashInstance", `is needed with the hash function "reported", unless the row or the `+
			"routing table says the instance")
	case r.base.Configuration.Hash == nil:
		return 0, InvalidRow(i, "Instance", "is needed: the instances changed and the committed hash is not known")
	default:
		var err error
		if id, err = r.base.Configuration.Hash.Instance(r.stats.Keys.At(i), r.stats.Keys.Hash(i)); err != nil {
			return 0, InvalidRow(i, "Key", err.Error())
		}
	}
	at := r.index.find(id)
	if at < 0 {
		return 0, InvalidRow(i, "Instance", "the routing table puts the key on an unknown instance")
	}
	return at, nil
}

// instanceIndex finds an instance's index by its id.
type instanceIndex struct {
	dense  []int32 // by id, −1 where there is none; nil when ids are sparse
	sorted []Instance
}

func newInstanceIndex(instances []Instance) instanceIndex {
	x := instanceIndex{sorted: instances}
	if last := int(instances[len(instances)-1].ID); last < 4*len(instances)+1024 {
		x.dense = slices.Repeat([]int32{-1}, last+1)
		for i, d := range instances { // whose ids are ≥ 0
			x.dense[d.ID] = int32(i)
		}
	}
	return x
}

func (x *instanceIndex) find(id int32) int32 {
	if x.dense != nil {
		if id < 0 || int(id) >= len(x.dense) {
			return -1
		}
		return x.dense[id]
	}
	i, ok := slices.BinarySearchFunc(x.sorted, id, func(d Instance, id int32) int { return int(d.ID) - int(id) })
	if !ok {
		return -1
	}
	return int32(i)
}

// validateInstances checks a list that errors call field.
func validateInstances(field string, instances []Instance) error {
	live := false
	for i, d := range instances {
		bad := func(of, detail string) error {
			return Invalid(Element(field, i)+"."+of, detail)
		}
		switch {
		case d.ID < 0:
			return bad("ID", "must be ≥ 0")
		case i > 0 && d.ID <= instances[i-1].ID:
			return bad("ID", "must ascend without repetition")
		case !(d.Capacity >= MinCapacity && d.Capacity <= MaxCapacity):
			return bad("Capacity", mustBeCapacity)
		case !isAmount(d.ResidualCost) || !isAmount(d.ResidualState) || d.ResidualKeys < 0 ||
			d.ResidualKeys > MaxResidualKeys:
			return bad("Residual", mustBeAmount)
		case d.Frozen && (d.ResidualCost > 0 || d.ResidualState > 0 || d.ResidualKeys > 0):
			return bad("Residual", "must be 0 on a frozen instance")
		case d.Frozen && !d.Partial:
			return bad("Partial", "must be set on a frozen instance")
		}
		live = live || d.Live()
	}
	if !live {
		return Invalid(field, "must have one that is neither drained nor frozen")
	}
	return nil
}

// fingerprint is a sum of hashes, so that it does not depend on their order.
type fingerprint [2]uint64

// add hashes what belongs together.
func (sum *fingerprint) add(words ...uint64) {
	a, b := uint64(0x9e3779b97f4a7c15), uint64(0xc2b2ae3d27d4eb4f)
	for _, w := range words {
		hi, lo := bits.Mul64(a^w, 0xd6e8feb86659fd93)
		a = hi ^ lo ^ bits.RotateLeft64(b, 17)
		hi, lo = bits.Mul64(b^w, 0xa0761d6478bd642f)
		b = hi ^ lo ^ bits.RotateLeft64(a, 29)
	}
	sum[0] += a
	sum[1] += b
}

// Fingerprint identifies the statistics whatever the order of their rows: a
// commutative sum of row hashes.
func (s *Statistics) Fingerprint() [16]byte {
	var parts [assign.MostParts]fingerprint
	assign.InParts(s.Len(), func(part, from, to int) { parts[part] = s.fingerprintRows(from, to) })
	var sum fingerprint
	for _, x := range parts {
		sum[0] += x[0]
		sum[1] += x[1]
	}
	for _, r := range s.Residual {
		sum.add(1, uint64(uint32(r.Instance)), math.Float64bits(r.Cost), math.Float64bits(r.State), uint64(r.Keys))
	}
	for _, x := range s.Costs {
		name := KeyHash([]byte(x.Name))
		for i, v := range x.Rows {
			sum.add(8, name, s.Keys.Hash(i), math.Float64bits(v))
		}
		for i, v := range x.Residual {
			sum.add(8, name, uint64(uint32(s.Residual[i].Instance)), math.Float64bits(v))
		}
	}
	if s.Partial {
		sum.add(2)
	}
	if s.Named > 0 {
		sum.add(7, uint64(s.Named))
	}
	for _, x := range s.Shares {
		sum.add(6, s.Keys.Hash(int(x.Row)), uint64(uint32(x.Instance)), math.Float64bits(x.State))
		if x.Idle {
			sum.add(7, s.Keys.Hash(int(x.Row)), uint64(uint32(x.Instance)))
		}
	}
	for _, id := range s.PartialOn {
		sum.add(4, uint64(uint32(id)))
	}
	for _, id := range s.Frozen {
		sum.add(5, uint64(uint32(id)))
	}
	var out [16]byte
	binary.BigEndian.PutUint64(out[:8], sum[0])
	binary.BigEndian.PutUint64(out[8:], sum[1])
	return out
}

func (s *Statistics) fingerprintRows(from, to int) (sum fingerprint) {
	for i := from; i < to; i++ {
		where, h := at(s.Instance, i, NoInstance), at(s.HashInstance, i, NoInstance)
		sum.add(s.Keys.Hash(i), uint64(len(s.Keys.At(i))), math.Float64bits(s.Cost[i]),
			math.Float64bits(at(s.State, i, 1)), uint64(uint32(where))<<32|uint64(uint32(h)))
		if s.Count != nil {
			sum.add(3, s.Keys.Hash(i), uint64(s.Count[i]))
		}
	}
	return sum
}
