package offline

import (
	"fmt"
	"strconv"
	"strings"

	"plannerd/internal/cli"
	"plannerd/planner"
	"plannerd/sdk/go/wire"
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

// writeSplits lists the keys that the plan has split.
func (r *planReport) writeSplits(w *cli.Page, p *planner.Plan) {
	if len(p.Splits) == 0 {
		return
	}
	fmt.Fprintf(w, "\nSplit keys: %s in each interval\n\n", cli.Plural(p.Merges(), "merge"))
	splits := splitKeysOf(p, false)
	writeFirst(w, r, splits, "key key | cost si | of fair = share right | goes to = where | why | = note",
		func(i int) cli.More {
			x := p.Splits[i]
			more := cli.More{
				"share": ofFair(splits[i].Cost, p.Instances[x.Parts[0].Instance].Fair), "where": partsText(splits[i].Parts),
				"why": splitCauses[x.Cause], "note": "",
			}
			if !x.Changed {
				more["note"] = "as before"
			}
			return more
		})
}

var splitCauses = map[planner.Cause]string{
	planner.CauseHotKey:       "too costly for one instance",
	planner.CauseCheaperSplit: "cheaper than to move",
	planner.CauseKept:         "split already",
}

// partsText lists instances and what part of a key each gets.
func partsText(parts wire.Parts) string {
	words := make([]string, len(parts))
	for i, x := range parts {
		share := strconv.FormatFloat(100*float64(x.Weight)/planner.PartUnits, 'f', 1, 64)
		words[i] = cli.ID(x.Instance) + " (" + share + " %)"
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
