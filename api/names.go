package api

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"

	"plannerd/internal/input"
	"plannerd/internal/input/lists"
	"plannerd/internal/operator"
	"plannerd/internal/web/httpkit"
	"plannerd/sdk/go/wire"
)

// instanceNames understand references to instances by their names, which are read when the first one
// comes that is no id.
type instanceNames struct {
	read  func() (operator.InstanceNames, error)
	asked bool
	known operator.InstanceNames
	err   error // of reading them
}

// namesOf are those of an operator.
func (s *shared) namesOf(ctx context.Context, name string) *instanceNames {
	return &instanceNames{read: func() (operator.InstanceNames, error) { return s.service.InstanceNames(ctx, name) }}
}

// namesOfPlan are those of the operator of a plan.
func (s *shared) namesOfPlan(ctx context.Context, id string) *instanceNames {
	return &instanceNames{read: func() (operator.InstanceNames, error) {
		p, err := s.service.Plan(ctx, id)
		if err != nil {
			return operator.InstanceNames{}, err
		}
		return s.service.InstanceNames(ctx, p.Operator)
	}}
}

// namesIn are those of a configuration.
func namesIn(c operator.Configuration) *instanceNames {
	known := operator.InstanceNames{IDs: map[string]int32{}}
	for _, d := range c.Instances {
		if d.Name != "" {
			known.IDs[d.Name] = d.ID
		}
	}
	return &instanceNames{asked: true, known: known}
}

// namesInCSV are the names of instances that a list in CSV tells: those of that version of the operator's
// configuration, and of instances that are gone one that they had. Other forms tell ids: programs read them.
func (s *shared) namesInCSV(c *call, name string, version int64) (lists.Names, error) {
	if c.media != mediaCSV {
		return nil, nil
	}
	had, err := s.service.InstanceNames(c.Context(), name)
	if err != nil || len(had.IDs) == 0 {
		return nil, err
	}
	config, err := s.service.Configuration(c.Context(), name, version)
	if err != nil {
		return nil, err
	}
	names := lists.Names{}
	for _, one := range slices.Sorted(maps.Keys(had.IDs)) {
		names[had.IDs[one]] = one
	}
	for _, d := range config.Instances {
		if delete(names, d.ID); d.Name != "" {
			names[d.ID] = d.Name
		}
	}
	return names, nil
}

// id is the id that a reference stands for, and what is wrong with it; "": nothing. Once reading the
// names has failed, err says so.
func (n *instanceNames) id(ref string) (int32, string) {
	if !n.asked && !operator.IsID(ref) {
		n.known, n.err = n.read()
		n.asked = true
	}
	return operator.IDOf(ref, n.known)
}

// worded is what is wrong with a reference, with the reference in it.
func worded(ref, detail string) string {
	return input.Problem{Detail: detail, Location: input.Location{Value: ref}}.Text()
}

// parameters has ids stand for the names of instances in the parameters of a request.
func (n *instanceNames) parameters(c *call) error {
	bad := httpkit.Invalid()
	of := func(name, ref string) string {
		id, detail := n.id(ref)
		if detail != "" {
			bad.AtParameter(name, worded(ref, detail))
		}
		return string(wire.ID(id))
	}
	if ref, ok := c.Path["instance"]; ok {
		c.Path["instance"] = of("instance", ref)
	}
	for _, name := range []string{"instance", "from", "to"} {
		if ref := c.Query.Get(name); ref != "" {
			c.Query.Set(name, of(name, ref))
		}
	}
	if n.err != nil {
		return n.err
	}
	return bad.OrNil()
}

// list is the ids that a list of references stands for. place is where it stands in the body.
func (n *instanceNames) list(refs []wire.InstanceRef, place string) ([]int32, error) {
	bad, ids := httpkit.Invalid(), make([]int32, len(refs))
	for i, ref := range refs {
		var detail string
		if ids[i], detail = n.id(string(ref)); detail != "" {
			bad.At(place+strconv.Itoa(i), worded(string(ref), detail))
		}
	}
	if n.err != nil {
		return nil, n.err
	}
	return ids, bad.OrNil()
}

// document has ids stand for the names of instances in a document, which stands at a place of the body.
func (n *instanceNames) document(doc *input.Document, names *input.Names, place string) error {
	err := doc.Identify(names, n.id)
	if wrong, ok := errors.AsType[*input.Error](err); ok {
		for i := range wrong.Problems {
			wrong.Problems[i].Pointer = place + wrong.Problems[i].Pointer
		}
	}
	return err
}

// identify has ids stand for the names of instances in the rows of a request and in its residual.
func (st *statisticsRequest) identify(names *instanceNames) error {
	err := st.document.Identify(st.names, names.id)
	for i := range st.Residual {
		r := &st.Residual[i]
		name := st.names.Name(r.Instance)
		if name == "" {
			continue
		}
		var detail string
		if r.Instance, detail = names.id(name); detail != "" {
			st.refuse("residual/"+strconv.Itoa(i)+"/instance", worded(name, detail))
		}
	}
	if names.err != nil {
		return names.err
	}
	if err != nil {
		return problemOf(err)
	}
	return nil
}
