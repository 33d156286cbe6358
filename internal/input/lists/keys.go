package lists

import (
	"strconv"

	"plannerd/planner"
)

// Entry is one line of a routing table: key goes to the instance with that id, or to those
// of its parts. In CSV a key that is split has a line for each part.
type Entry planner.Entry

func (e Entry) cells(c *cells) {
	if c.form != asJSON && e.Parts != nil {
		for i, x := range e.Parts {
			if i > 0 {
				c.end()
				c.begin()
			}
			c.key(e.Key)
			c.id(`"instance":`, x.Instance)
			c.int(`"weight":`, int64(x.Weight))
		}
		return
	}
	c.key(e.Key)
	c.id(`"instance":`, e.Instance)
	if c.form == asJSON {
		c.parts(`"parts":`, e.Parts)
	} else {
		c.none(`"weight":`)
	}
}

// UnsetKey is the key of an entry that a plan removes from a routing table; in JSON it is a
// string.
type UnsetKey []byte

func (k UnsetKey) cells(c *cells) {
	c.array(0, 0)
	c.text(`"key":`, k, c.base64)
}

// HeadKey is a key that has another number of candidates than others.
type HeadKey struct {
	Key     []byte
	Choices int32
}

func (k HeadKey) cells(c *cells) {
	c.key(k.Key)
	c.int(`"choices":`, int64(k.Choices))
}

// TableChange is what a plan does to one entry of a routing table: key goes to
// Instance instead of to Previous. planner.NoInstance stands for no entry. Of a key that
// is split Parts, or PreviousParts, say where it goes.
type TableChange struct {
	Key                  []byte
	Instance, Previous   int32
	Parts, PreviousParts []planner.Part
}

func (x TableChange) cells(c *cells) {
	c.key(x.Key)
	c.id(`"instance":`, x.Instance)
	c.id(`"previous":`, x.Previous)
	c.parts(`"parts":`, x.Parts)
	c.parts(`"previous_parts":`, x.PreviousParts)
}

// Migration is one key that changes its instance.
type Migration struct {
	Key      []byte
	From, To int32   // ids of instances
	Cost     float64 // c(k); 0 where a share of the state is gathered
	State    float64 // S(k,w); 1 when no state was reported
	Reason   planner.Reason
}

func (m Migration) cells(c *cells) {
	if !c.key(m.Key) {
		return
	}
	switch c.form { // written at once, as there may be a million of them
	case asJSON:
		dst := strconv.AppendInt(append(c.dst, `,"from":`...), int64(m.From), 10)
		dst = strconv.AppendInt(append(dst, `,"to":`...), int64(m.To), 10)
		dst = appendNumber(append(dst, `,"cost":`...), m.Cost)
		dst = appendNumber(append(dst, `,"state":`...), m.State)
		c.dst = append(append(append(dst, `,"reason":"`...), m.Reason.String()...), '"')
	case asCSV:
		dst := c.appendInstance(append(c.dst, ','), m.From)
		dst = c.appendInstance(append(dst, ','), m.To)
		dst = appendNumber(append(dst, ','), m.Cost)
		dst = appendNumber(append(dst, ','), m.State)
		c.dst = append(append(dst, ','), m.Reason.String()...)
	default:
		c.dst = append(c.dst, ",from,to,cost,state,reason"...)
	}
}

// MoveDiff is one key that two plans do not move alike. planner.NoInstance stands for a plan that does not
// move it. Cost and State are those that the first plan says that moves it.
type MoveDiff struct {
	Key                []byte
	From, To           int32
	OtherFrom, OtherTo int32
	Cost, State        float64
}

func (x MoveDiff) cells(c *cells) {
	c.key(x.Key)
	c.id(`"from":`, x.From)
	c.id(`"to":`, x.To)
	c.id(`"other_from":`, x.OtherFrom)
	c.id(`"other_to":`, x.OtherTo)
	c.number(`"cost":`, x.Cost)
	c.number(`"state":`, x.State)
}

// MigrationsOf yields the migrations of a plan of keys, in its order.
func MigrationsOf(p *planner.Plan) Records[Migration] {
	return func(yield func(Migration) bool) {
		for i := range p.Moves {
			if !yield(MigrationOf(p, i)) {
				return
			}
		}
	}
}

// MigrationOf is the migration that move i of a plan of keys makes.
func MigrationOf(p *planner.Plan, i int) Migration {
	s, m := p.Snapshot, p.Moves[i]
	cost := s.Cost[m.Item]
	if m.Reason == planner.ReasonGather {
		cost = 0 // it counts where the key is
	}
	return Migration{
		Key: s.Keys.At(int(m.Item)), From: s.Instances[m.From].ID, To: s.Instances[m.To].ID,
		Cost: cost, State: s.StateOf(m), Reason: m.Reason,
	}
}
