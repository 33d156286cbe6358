package operator

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"plannerd/internal/nearest"
	"plannerd/planner"
	"plannerd/store"
)

// InstanceNames are the names and ids that instances of an operator have ever had.
type InstanceNames = store.InstanceNames

// MaxNameBytes is how long the name of an instance may be.
const MaxNameBytes = 255

// CheckName says what is wrong with the name of an instance; "": nothing.
func CheckName(name string) string {
	switch {
	case name == "" || len(name) > MaxNameBytes:
		return fmt.Sprintf("must be 1 to %d bytes long", MaxNameBytes)
	case !utf8.ValidString(name) || bytes.ContainsFunc([]byte(name), unicode.IsControl):
		return "must be UTF-8 without control characters"
	case IsID(name):
		return "must not be digits alone, which are an id"
	}
	return ""
}

// IsID tells whether a reference to an instance is an id: digits alone.
func IsID(ref string) bool { return strings.Trim(ref, "0123456789") == "" }

// SameNames tells whether the instances of two configurations, which are the same, have the same names.
func SameNames(a, b Configuration) bool {
	return slices.EqualFunc(a.Instances, b.Instances, func(x, y Instance) bool { return x.Name == y.Name })
}

// CutCapacity parts what stands for an instance, ref:capacity or ref alone, whose capacity is 1. What
// stands behind a colon and is no number is a part of a name; false: it stands behind an id.
func CutCapacity(text string) (ref string, capacity float64, ok bool) {
	i := strings.LastIndexByte(text, ':')
	capacity, err := strconv.ParseFloat(text[i+1:], 64)
	if i > 0 && err == nil && math.Abs(capacity) <= planner.MaxAmount {
		return text[:i], capacity, true
	}
	return text, 1, i < 0 || !IsID(text[:i])
}

// NamesGiven tells whether the JSON of a configuration, as an operator is given it, has names of
// instances.
func NamesGiven(text []byte) bool {
	members := membersOf(text)
	return namesIn(members["instances"]) || bytes.IndexByte(membersOf(members["hash"])["assignment"], '"') >= 0 ||
		namedInRules(members["placement"])
}

// namesIn tells whether instances have names. All that is text in them is one, or stands before one.
func namesIn(instances jsontext.Value) bool {
	if instances.Kind() != '[' {
		return false
	}
	var all []jsontext.Value
	return json.Unmarshal(instances, &all) == nil && slices.ContainsFunc(all, func(one jsontext.Value) bool {
		return one.Kind() == '"' || membersOf(one)["name"] != nil || membersOf(one)["id"] == nil
	})
}

// Identify gives ids to the instances that the JSON of a configuration has by their names, and has
// ids stand for the names in the rest of it. known are those that the operator has ever had. The
// error is a [planner.InputError].
func Identify(text []byte, known InstanceNames) ([]byte, error) {
	if !NamesGiven(text) {
		return text, nil
	}
	members := membersOf(text)
	if namesIn(members["instances"]) {
		instances, err := identify(members["instances"], &known)
		if err != nil {
			return nil, err
		}
		if members["instances"], err = json.Marshal(instances); err != nil {
			return nil, err
		}
	}
	hash := membersOf(members["hash"])
	if assignment := hash["assignment"]; bytes.IndexByte(assignment, '"') >= 0 {
		ids, err := idsOf(assignment, "hash/assignment/", known)
		if err != nil {
			return nil, err
		}
		if hash["assignment"], err = json.Marshal(ids); err == nil {
			members["hash"], err = json.Marshal(hash, json.Deterministic(true))
		}
		if err != nil {
			return nil, err
		}
	}
	if namedInRules(members["placement"]) {
		var err error
		if members["placement"], err = identifyRules(members["placement"], known); err != nil {
			return nil, err
		}
	}
	return json.Marshal(members, json.Deterministic(true))
}

// givenInstance is an instance as it is given.
type givenInstance struct {
	ID         *int64         `json:"id"`
	Name       string         `json:"name,omitzero"`
	Capacity   jsontext.Value `json:"capacity,omitzero"`
	Capacities jsontext.Value `json:"capacities,omitzero"`
	Tokens     jsontext.Value `json:"tokens,omitzero"`
	Labels     jsontext.Value `json:"labels,omitzero"`
	Takes      jsontext.Value `json:"takes,omitzero"`
}

// UnmarshalJSONFrom reads an object, or a name alone.
func (g *givenInstance) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if dec.PeekKind() == '"' {
		return json.UnmarshalDecode(dec, &g.Name)
	}
	type object givenInstance
	return json.UnmarshalDecode(dec, (*object)(g))
}

// identify gives ids to instances, and adds their names to those that are known.
func identify(text jsontext.Value, known *InstanceNames) ([]givenInstance, error) {
	var all []givenInstance
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, err
	}
	ids, here := map[string]int32{}, map[string]bool{}
	maps.Copy(ids, known.IDs)
	next := known.Next
	for _, d := range all {
		if d.ID != nil {
			next = max(next, *d.ID+1)
		}
	}
	for i := range all {
		d := &all[i]
		at := "instances/" + strconv.Itoa(i)
		if d.ID == nil && d.Name == "" {
			return nil, planner.Invalid(at, "needs an id or a name")
		}
		if d.Name == "" {
			continue
		}
		id, had := known.IDs[d.Name]
		switch detail := CheckName(d.Name); {
		case detail != "":
			return nil, planner.Invalid(at+"/name", detail)
		case here[d.Name]:
			return nil, planner.Invalid(at+"/name", fmt.Sprintf("%s stands twice", d.Name))
		case had && d.ID != nil && *d.ID != int64(id):
			return nil, planner.Invalid(at+"/name", fmt.Sprintf("%s is instance %d for ever", d.Name, id))
		case !had && d.ID == nil && next > math.MaxInt32:
			return nil, planner.Invalid(at, "needs an id: all are used")
		case had:
			d.ID = new(int64(id))
		case d.ID == nil:
			d.ID, next = new(next), next+1
		}
		ids[d.Name], here[d.Name] = int32(*d.ID), true
	}
	known.IDs = ids
	return all, distinct(all)
}

// distinct refuses two names of one instance.
func distinct(all []givenInstance) error {
	places := map[int64]int{}
	for i, d := range all {
		first, twice := places[*d.ID]
		if twice && d.Name != "" && all[first].Name != "" {
			return planner.Invalid(fmt.Sprintf("instances/%d/name", i),
				fmt.Sprintf("%s is instance %d, as %s is: it was renamed", d.Name, *d.ID, all[first].Name))
		}
		places[*d.ID] = i
	}
	return nil
}

// idsOf are the ids that a list of references to instances stands for. field is where it stands.
func idsOf(text jsontext.Value, field string, known InstanceNames) ([]int32, error) {
	var refs []jsontext.Value
	if err := json.Unmarshal(text, &refs); err != nil {
		return nil, err
	}
	ids := make([]int32, len(refs))
	for i, ref := range refs {
		name := string(ref)
		if ref.Kind() == '"' {
			if err := json.Unmarshal(ref, &name); err != nil {
				return nil, err
			}
		}
		var detail string
		if ids[i], detail = IDOf(name, known); detail != "" {
			return nil, planner.Invalid(field+strconv.Itoa(i), detail)
		}
	}
	return ids, nil
}

// IDOf is the id that a reference to an instance stands for, and what is wrong with it; "": nothing.
func IDOf(ref string, known InstanceNames) (int32, string) {
	if IsID(ref) {
		id, err := strconv.ParseInt(ref, 10, 32)
		if err != nil {
			return 0, "must be a name, or an id from 0 to 2147483647"
		}
		return int32(id), ""
	}
	if id, had := known.IDs[ref]; had {
		return id, ""
	}
	return 0, UnknownName(ref, slices.Collect(maps.Keys(known.IDs)))
}

// UnknownName says that a name is that of no instance, and which there are: the one that is most
// like it, else some.
func UnknownName(name string, known []string) string {
	const most = 5
	if len(known) == 0 {
		return "must be an integer from 0 to 2147483647"
	}
	slices.Sort(known)
	if meant := nearest.Suffix(name, known); meant != "" {
		return "is no instance" + meant
	}
	return "is no instance; there are " + strings.Join(known[:min(most, len(known))], ", ")
}
