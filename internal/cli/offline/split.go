package offline

import (
	"fmt"
	"strconv"
	"strings"

	"plannerd/internal/cli"
	"plannerd/planner"
	"plannerd/sdk/go/wire"
)

// splitting is what the flags allow; nil: no key may be split.
func (f *driveFlags) splitting() (*planner.Splitting, error) {
	switch {
	case !f.Split && (f.MaxParts != 0 || f.MergeCost != 0 || f.SplitPrice != nil || f.SplitParts != "migrate"):
		return nil, cli.Usagef("--max-parts, --merge-cost, --split-price and --split-parts belong to --split")
	case !f.Split:
		return nil, nil //nolint:nilnil // not to split is no error
	case !f.Affinity.IsZero():
		return nil, cli.Usagef("--split: not with --affinity: the keys of a routed key would part")
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
func (c *Plan) writeSplits(w *cli.Page, p *planner.Plan) {
	if len(p.Splits) == 0 {
		return
	}
	fmt.Fprintf(w, "\nSplit keys: %s in each interval\n\n", cli.Plural(p.Merges(), "merge"))
	splits := splitKeysOf(p, false)
	writeFirst(w, c, splits, "key key | cost si | of fair = share right | goes to = where | why | = note",
		func(i int) cli.More {
			x := p.Splits[i]
			more := cli.More{
				"share": ofFair(splits[i].Cost, p.Instances[x.Parts[0].Instance].Fair), "where": partsText(splits[i].Parts, c.text),
				"why": splitCauses[x.Cause], "note": "",
			}
			if x.Cause == planner.CauseHotKey && len(p.Resources) > 0 {
				more["why"] = "too large for one instance"
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
func partsText(parts wire.Parts, name func(id int32) string) string {
	words := make([]string, len(parts))
	for i, x := range parts {
		share := strconv.FormatFloat(100*float64(x.Weight)/planner.PartUnits, 'f', 1, 64)
		words[i] = name(x.Instance) + " (" + share + " %)"
	}
	return strings.Join(words, ", ")
}

// entryText is where a table entry sends its key.
func entryText(e planner.Entry, name func(id int32) string) string {
	if e.Parts == nil {
		return name(e.Instance)
	}
	ids := make([]string, len(e.Parts))
	for i, x := range e.Parts {
		ids[i] = name(x.Instance)
	}
	return strings.Join(ids, "+")
}
