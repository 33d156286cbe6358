package reading

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"plannerd/internal/cli"
	"plannerd/internal/input"
	"plannerd/internal/operator"
	"plannerd/planner"
)

// assumed is how many instances there are where nothing says it.
const assumed = 8

// settle fills in the instances that nobody gave, and has names stand for the same ids among those of
// before a rescale and those of after it.
func (f *OperatorFlags) settle() {
	if f.Instances == nil {
		f.assumed, f.expected = true, map[string]int32{}
		for id := range int32(assumed) {
			f.Instances = append(f.Instances, planner.Instance{ID: id, Capacity: 1})
		}
	}
	if len(f.BaseInstances) == 0 {
		return
	}
	ids, next := f.BaseInstances.names(), int32(0)
	for _, d := range slices.Concat(f.BaseInstances, f.Instances) {
		if d.Name == "" || ids[d.Name] == d.ID {
			next = max(next, d.ID+1)
		}
	}
	for i := range f.Instances {
		d := &f.Instances[i]
		if d.Name == "" {
			continue
		}
		id, known := ids[d.Name]
		if !known {
			id, next = next, next+1
		}
		d.ID = id
	}
	f.Instances.sort()
}

// names are the ids of instances by their names.
func (v Instances) names() map[string]int32 {
	out := map[string]int32{}
	for _, d := range v {
		if d.Name != "" {
			out[d.Name] = d.ID
		}
	}
	return out
}

func (v Instances) sort() {
	slices.SortFunc(v, func(a, b planner.Instance) int { return int(a.ID) - int(b.ID) })
}

// Texts is how people call instances: by their names, where they have some.
func (f *OperatorFlags) Texts() func(id int32) string {
	names := map[int32]string{}
	for _, d := range slices.Concat(f.BaseInstances, f.Instances) {
		names[d.ID] = d.Name
	}
	return func(id int32) string { return cmp.Or(names[id], cli.ID(id)) }
}

// Named tells whether instances have names.
func (f *OperatorFlags) Named() bool {
	return len(f.Instances.names()) > 0 || len(f.BaseInstances.names()) > 0
}

// id is that of an instance by its name or its id, and what is wrong with it; "": nothing.
func (f *OperatorFlags) id(ref string) (int32, string) {
	known := operator.InstanceNames{IDs: f.Instances.names()}
	maps.Copy(known.IDs, f.BaseInstances.names())
	if f.assumed && !f.looked && !operator.IsID(ref) { // nobody knows the names yet
		id := f.expected[ref]
		if id == 0 {
			id = int32(len(f.expected) + 1)
			f.expected[ref] = id
		}
		return id, ""
	}
	id, detail := operator.IDOf(ref, known)
	if detail != "" && len(known.IDs) == 0 && !isNumber(ref) {
		detail = "is none of --instances, which are numbers: list the names there"
	}
	return id, detail
}

// identify has ids stand for the names that the rows of an interval have. Where nobody gave any
// instances, those of the first interval that has names are taken, and it is said which.
func (in *Input) identify(d *input.Document) error {
	if in.Operator == nil || len(in.Names.Known) == 0 {
		return nil
	}
	if o := in.Operator; o.assumed && !in.Inferred && !slices.ContainsFunc(in.Names.Known, isNumber) {
		in.Inferred, o.Instances = true, nil
		names := slices.Sorted(slices.Values(in.Names.Known))
		for id, name := range names {
			o.Instances = append(o.Instances, planner.Instance{ID: int32(id), Name: name, Capacity: 1})
		}
		fmt.Fprintf(in.stderr, "plannerd: %s: without --instances these are the %d that its rows name: %s\n",
			in.Name, len(names), strings.ReplaceAll(CutList(names), " ", ", "))
	}
	return d.Identify(in.Names, in.Operator.id)
}

// Look reads the first interval ahead where that may tell which instances there are: then the flags'
// operator is to be made anew.
func (in *Input) Look() (anew bool, err error) {
	if !in.Operator.assumed || in.Operator.looked {
		return false, nil
	}
	in.Operator.looked = true
	_, _, err = in.Next()
	in.again = err == nil
	return true, err
}

// isNumber tells whether a text is a number, as that of an instance is which is none.
func isNumber(text string) bool {
	_, err := strconv.ParseFloat(text, 64)
	return err == nil
}

// parseInstance reads an id or a name, or either with :capacity. A name gets an id later.
func parseInstance(s string) (d planner.Instance, err error) {
	ref, capacity, ok := operator.CutCapacity(s)
	d = planner.Instance{ID: planner.NoInstance, Name: ref, Capacity: capacity}
	detail := operator.CheckName(ref)
	if ref == "" || operator.IsID(ref) {
		d.Name = ""
		d.ID, detail = operator.IDOf(ref, operator.InstanceNames{})
	}
	switch {
	case ref == "" || detail != "":
		return d, fmt.Errorf("%q is no instance: write their number, or ids or names, such as 0:1,1:2 or "+
			"worker-a,worker-b:2", s)
	case !ok || !(capacity > 0):
		return d, fmt.Errorf("instance %s: the capacity must be a number > 0", ref)
	}
	return d, nil
}
