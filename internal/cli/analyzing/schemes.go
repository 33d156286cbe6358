package analyzing

import (
	"fmt"
	"io"

	"plannerd/internal/analyses"
	"plannerd/internal/cli"
	"plannerd/internal/cli/reading"
	"plannerd/planner/grouping"
)

type analyzeSchemesCmd struct {
	analysisInput
	Instances         reading.Instances        `default:"8" placeholder:"N|ID:CAPACITY,…" help:"Task instances: a number for 0…N-1 of capacity 1, or a list such as 0:1,1:2,7:1 (default 8)."`
	ThetaMax          float64                  `type:"share" default:"0.08" help:"θ_max, a share of the fair load: an instance may carry (1+θ_max) times its own."`
	Hash              string                   `enum:"ring,modulo" default:"ring" help:"Where keys are before: ring or modulo."`
	TokensPerInstance int                      `placeholder:"N" help:"Ring: tokens of each instance (default ${tokens})."`
	TableLimit        *int64                   `placeholder:"N" help:"Greatest size of the routing table, in entries (default: no limit)."`
	Whole             bool                     `help:"Partial results of one key cannot be merged: a key must be on one instance."`
	MaxChoices        int                      `placeholder:"N" help:"Most choices of pkg to try (default: the number of instances, at most 256)."`
	Sources           int                      `own:"" default:"1" help:"Sources of the stream, S, under pkg."`
	LoadInformation   grouping.LoadInformation `own:"" enum:"global,local" default:"global" help:"What sources know of the loads under pkg: global or local."`
	AggregationPeriod int64                    `default:"0" help:"Messages after which parts of split keys are merged; 0: once at the end."`
	MaxRounds         int                      `default:"8" help:"How often the ring may relieve each instance."`
	MaxIntervals      int                      `default:"32" help:"Greatest number of intervals of each instance, under ranges."`
	Order             grouping.Order           `enum:",shuffled,independent" default:"" placeholder:"ORDER" help:"How statistics become a stream for pkg: shuffled has exactly their frequencies, independent draws each message (default: shuffled, if they are whole numbers of at most 2^24)."`
	Messages          int64                    `placeholder:"N" help:"Messages to draw for pkg (default: the sum of the frequencies, at most 1,000,000)."`
	Seed              uint64                   `default:"0" help:"The same seed gives the same stream."`
	Seeds             int                      `default:"5" help:"Number of seeds by which pkg is judged."`

	Output string `enum:"table,json,csv" default:"table" group:"Output" help:"table for people, json for programs, csv for a spreadsheet."`
}

// Run compares and reports.
func (c *analyzeSchemesCmd) Run(env *cli.Environment) error {
	if err := c.read(env, true); err != nil {
		return err
	}
	request := c.request()
	result, err := watched(env, &c.analysisInput, analyses.RunSchemes, request)
	if err != nil {
		return err
	}
	return env.Output(c.Output, func() any { return result }, func(w *cli.Page) { writeSchemes(w, result) },
		schemesCSV(result))
}

func (c *analyzeSchemesCmd) request() analyses.SchemesRequest {
	mergeable := !c.Whole
	r := analyses.SchemesRequest{
		ThetaMax: &c.ThetaMax, Hash: c.Hash, TokensPerInstance: c.TokensPerInstance, TableLimit: c.TableLimit,
		Mergeable:  &mergeable,
		MaxChoices: c.MaxChoices, Sources: c.Sources, LoadInformation: c.LoadInformation,
		AggregationPeriod: c.AggregationPeriod, MaxRounds: c.MaxRounds, MaxIntervals: c.MaxIntervals,
		Order: c.Order, Messages: c.Messages, Seed: c.Seed, Seeds: c.Seeds,
	}
	for _, x := range c.Instances {
		r.Instances = append(r.Instances, analyses.SchemesInstance{ID: x.ID, Capacity: x.Capacity})
	}
	return r
}

// writeSchemes prints the comparison for people.
func writeSchemes(w *cli.Page, r *analyses.SchemesResult) {
	fmt.Fprintf(w, "%s on %s, θ_max %s: the costliest key has %s of all cost, and no scheme that keeps it whole a θ "+
		"below %s\n\n",
		cli.Plural(r.Keys, "key"), cli.Plural(r.Instances,
			"instance"), cli.Theta(r.ThetaMax), cli.Percent(r.P1), cli.Theta(r.LeastTheta))
	cli.WriteList(w, r.Schemes, "scheme | * = how | θ = theta theta | I(m)/m = imbalance small | balanced = verdict"+
		" | keys | pairs held = pairs | table = held_entries right | tokens = held_tokens right"+
		" | intervals = held_intervals right"+
		" | moved = state_moved si | of all = state_fraction percent | to merge = aggregation_messages si",
		func(i int) cli.More {
			f := r.Schemes[i]
			more := cli.More{
				"how": f.Method, "verdict": "no", "keys": "split", "held_entries": held(f.TableEntries),
				"held_tokens": held(f.Tokens), "held_intervals": held(f.Intervals),
			}
			if f.KeepsKeys {
				more["keys"] = "whole"
			}
			if f.Choices > 0 {
				more["how"] = "d = " + count(f.Choices)
			}
			if f.Balanced {
				more["verdict"] = "yes"
			}
			if !f.TableWithinLimit {
				more["verdict"] = more["verdict"].(string) + ", table over limit"
			}
			return more
		})
	if r.Sampled {
		fmt.Fprintf(w, "\npkg was run on %s that were drawn: its pairs and what is to merge are those of this sample\n",
			cli.Plural(r.Messages, "message"))
	}
	fmt.Fprintf(w, "\n%s\n", r.Recommendation.Reason)
}

// held writes what a scheme holds, if anything.
func held(n int64) string {
	if n == 0 {
		return ""
	}
	return cli.Integer(n)
}

func schemesCSV(r *analyses.SchemesResult) func(io.Writer) error {
	return cli.CsvOf(r.Schemes, "scheme theta imbalance balanced table_within_limit keeps_keys pairs table_entries "+
		"tokens intervals keys_moved state_moved state_fraction aggregation_messages method choices recommended",
		func(i int) cli.More { return cli.More{"recommended": r.Schemes[i].Scheme == r.Recommendation.Scheme} })
}
