package offline

import (
	"fmt"
	"strconv"
	"strings"

	"plannerd/internal/cli"
	"plannerd/internal/cli/reading"
	"plannerd/planner"
)

// splitFlags say whether keys may be split, and how.
type splitFlags struct {
	Split      bool     `group:"Operator" help:"Keys that no instance can carry whole may be split over several: the operator's partial results of a key can be merged. Of compact records only keys that are named beside them."`
	MaxParts   int      `least:"0" default:"0" group:"Operator" help:"With --split: the most parts of a key; 0: one for each instance."`
	MergeCost  float64  `default:"0" group:"Operator" help:"With --split: what each part of a split key adds to the load of its instance, in units of cost."`
	SplitPrice *float64 `placeholder:"X" group:"Operator" help:"With --split and strategy optimal: split any key, and further, where a part more saves moving more than so much state (default: only keys that no instance can carry whole)."`
	SplitParts string   `enum:"migrate,expire" default:"migrate" group:"Operator" help:"With --split: what becomes of parts that a plan takes away: they migrate to another one, or expire where they are, as the state of a window does."`
}

// splitting is what the flags allow; nil: no key may be split.
func (f *splitFlags) splitting() (*planner.Splitting, error) {
	switch {
	case !f.Split && (f.MaxParts != 0 || f.MergeCost != 0 || f.SplitPrice != nil || f.SplitParts != "migrate"):
		return nil, cli.Usagef("--max-parts, --merge-cost, --split-price and --split-parts belong to --split")
	case !f.Split:
		return nil, nil //nolint:nilnil // not to split is no error
	case f.MaxParts == 1:
		return nil, cli.Usagef("--max-parts: must be 0, or 2 or more")
	case !(f.MergeCost >= 0 && f.MergeCost <= planner.MaxAmount):
		return nil, cli.Usagef("--merge-cost: must be from 0 to 1e290")
	case f.SplitPrice != nil && !(*f.SplitPrice >= 0 && *f.SplitPrice <= planner.MaxAmount):
		return nil, cli.Usagef("--split-price: must be from 0 to 1e290")
	}
	return &planner.Splitting{
		MaxParts: f.MaxParts, MergeCost: f.MergeCost, Price: f.SplitPrice, Expire: f.SplitParts == "expire",
	}, nil
}

// splitKey is a key that a plan has split.
type splitKey struct {
	Key   string  `json:"key"`
	Cost  float64 `json:"cost"`
	Cause string  `json:"cause"`
	// Changed: it was whole before, or had other parts.
	Changed bool   `json:"changed"`
	Parts   []part `json:"parts"`
}

// part is one of its instances, with its weight in 65 536ths.
type part struct {
	Instance int32 `json:"instance"`
	Weight   int32 `json:"weight"`
}

func splitKeysOf(p *planner.Plan, keys reading.KeyEncoder) []splitKey {
	if p.Options.Splitting == nil {
		return nil
	}
	list := []splitKey{}
	s := p.Snapshot
	for _, x := range p.Splits {
		out := splitKey{
			Key: keys.Encode(s.Keys.At(int(x.Item))), Cost: s.Cost[x.Item], Cause: string(x.Cause), Changed: x.Changed,
		}
		for _, y := range x.Parts {
			out.Parts = append(out.Parts, part{s.Instances[y.Instance].ID, y.Weight})
		}
		list = append(list, out)
	}
	return list
}

// writeSplits lists the keys that the plan has split.
func (r *planReport) writeSplits(w *cli.Page, p *planner.Plan) {
	if len(p.Splits) == 0 {
		return
	}
	fmt.Fprintf(w, "\nSplit keys: %s in each interval\n\n", cli.Plural(p.Merges(), "merge"))
	s := p.Snapshot
	columns := []cli.Column{cli.Keys("key"), cli.Number("cost"), cli.Number("of fair"), cli.Text("goes to"),
		cli.Text("why"), cli.Text("")}
	r.writeList(w, columns, len(p.Splits), func(i int) []string {
		x := p.Splits[i]
		note := ""
		if !x.Changed {
			note = "as before"
		}
		fair := p.Instances[x.Parts[0].Instance].Fair
		return []string{
			cli.KeyText(s.Keys.At(int(x.Item))), cli.SI(s.Cost[x.Item]), ofFair(s.Cost[x.Item], fair), partsText(s, x.Parts),
			splitCauses[x.Cause], note,
		}
	})
}

var splitCauses = map[planner.Cause]string{
	planner.CauseHotKey:       "too costly for one instance",
	planner.CauseCheaperSplit: "cheaper than to move",
	planner.CauseKept:         "split already",
}

// partsText lists instances and what part of a key each gets.
func partsText(s *planner.Snapshot, parts []planner.Part) string {
	words := make([]string, len(parts))
	for i, x := range parts {
		share := strconv.FormatFloat(100*float64(x.Weight)/planner.PartUnits, 'f', 1, 64)
		words[i] = cli.ID(s.Instances[x.Instance].ID) + " (" + share + " %)"
	}
	return strings.Join(words, ", ")
}

// entryText is where a table entry sends its key.
func entryText(e planner.Entry) string {
	if e.Parts == nil {
		return cli.ID(e.Instance)
	}
	ids := make([]string, len(e.Parts))
	for i, x := range e.Parts {
		ids[i] = cli.ID(x.Instance)
	}
	return strings.Join(ids, "+")
}
