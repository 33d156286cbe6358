package analyzing

import (
	"fmt"
	"io"

	"plannerd/internal/analyses"
	"plannerd/internal/cli"
	"plannerd/planner/grouping"
)

type analyzePKGCmd struct {
	analysisInput
	Instances         int                        `own:"" aliases:"workers" default:"8" help:"Number of task instances, W in the papers."`
	Schemes           []grouping.Scheme          `placeholder:"NAME" help:"Schemes to run (default: all of those above)."`
	Choices           []int                      `default:"2" help:"d, the candidates of a key: one or several values."`
	Sources           []int                      `default:"1" help:"S, the number of sources: one or several values."`
	SourceSkew        *float64                   `placeholder:"Z" help:"Group messages onto sources by keys of their own, drawn from 10,000 with a Zipf distribution of this exponent; needs --stream (default: sources send in turn)."`
	LoadInformation   []grouping.LoadInformation `default:"global" help:"What sources know of the loads: global, local, local_probing; one or several."`
	ProbePeriod       int64                      `placeholder:"N" help:"T_p of local_probing, in messages (default: none; local_probing needs it)."`
	Distinct          bool                       `help:"Move candidates of a key that coincide apart."`
	HashSeed          uint32                     `default:"0" help:"Seed of the first candidate's hash."`
	AggregationPeriod int64                      `default:"0" help:"Messages after which instances send on what they have; 0: once at the end."`
	Order             grouping.Order             `enum:",shuffled,independent" default:"" placeholder:"ORDER" help:"How statistics become a stream: shuffled has exactly their frequencies, independent draws each message (default: shuffled, if they are whole numbers of at most 2^24)."`
	Messages          int64                      `placeholder:"N" help:"Messages to draw (default: the sum of the frequencies, at most 1,000,000)."`
	Seed              uint64                     `default:"0" help:"The same seed gives the same stream."`
	Seeds             int                        `default:"1" help:"Number of seeds by which the imbalance is judged."`

	Output string `enum:"table,json,csv" default:"table" group:"Output" help:"table for people, json for programs, csv for a spreadsheet."`
	Top    int    `default:"20" group:"Output" help:"Greatest length of each list of keys, transfers, arcs and events. Arcs, events and the keys that a ring moves are in json only."`
	Points int    `default:"200" group:"Output" help:"Greatest length of the series of the imbalance through time, in json."`
}

// Run analyses the stream and reports.
func (c *analyzePKGCmd) Run(env *cli.Environment) error {
	if err := c.read(env, true); err != nil {
		return err
	}
	result, err := watched(env, &c.analysisInput, analyses.RunPKG, c.request())
	if err != nil {
		return err
	}
	return env.Output(c.Output, func() any { return result }, func(w *cli.Page) { writePKG(w, result) }, pkgCSV(result))
}

func (c *analyzePKGCmd) request() analyses.PKGRequest {
	return analyses.PKGRequest{
		Schemes: c.Schemes, LoadInformation: c.LoadInformation, Workers: c.Instances, Choices: c.Choices,
		Sources: c.Sources, SourceSkew: c.SourceSkew, ProbePeriod: c.ProbePeriod, Distinct: c.Distinct, HashSeed: c.HashSeed,
		AggregationPeriod: c.AggregationPeriod, Order: c.Order, Messages: c.Messages, Seed: c.Seed,
		Seeds: c.Seeds, Top: &c.Top, Points: &c.Points,
	}
}

// writePKG prints the runs for people.
func writePKG(w *cli.Page, r *analyses.PKGResult) {
	fmt.Fprintf(w, "%s of %s on %s, p1 %s\n\n", cli.Plural(r.Messages, "message"), cli.Plural(r.Keys, "key"),
		cli.Plural(r.Workers, "instance"), cli.Percent(r.P1))
	columns := "scheme | d* = choices id | S* = sources id | loads known* = known | I(m)/m = imbalance small" +
		" | average = average_imbalance small | peak = peak_imbalance small | at best = least small | θ = theta theta" +
		" | pairs held = memory/pairs | sent on = aggregation/per_period si"
	if r.Seeds > 1 {
		columns += " | median I(m)/m = over_seeds/median small | greatest = over_seeds/greatest small"
	}
	cli.WriteList(w, r.Runs, columns, func(i int) cli.More {
		x := r.Runs[i]
		return cli.More{"known": loadsText(&x), "least": max(x.Bounds.TopKey, x.Bounds.Split, 0)}
	})
	writeHeavyKeys(w, r)
}

func loadsText(x *analyses.PKGRun) string {
	if x.ProbePeriod > 0 {
		return fmt.Sprintf("%s, every %s", x.LoadInformation, cli.Integer(x.ProbePeriod))
	}
	return string(x.LoadInformation)
}

func writeHeavyKeys(w *cli.Page, r *analyses.PKGResult) {
	if r.HeavyKeyCount == 0 {
		return
	}
	listed(w, fmt.Sprintf("%s above 1/(5W) of the messages", cli.Plural(r.HeavyKeyCount, "key")), r.HeavyKeys,
		"key key | messages | of all = share percent | instances at least = least_workers")
}

// pkgColumns are those of a run in CSV.
const pkgColumns = `scheme choices sources load_information probe_period messages max_load theta imbalance
	average_imbalance peak_imbalance over_seeds/least over_seeds/median over_seeds/greatest
	top_key_bound=bounds/top_key split_bound=bounds/split
	least_max_load=bounds/least_max_load sources_bound=bounds/sources pairs=memory/pairs
	key_grouping_pairs=memory/key_grouping shuffle_grouping_pairs=memory/shuffle_grouping
	remembered=memory/remembered aggregation/messages aggregation/per_period`

func pkgCSV(r *analyses.PKGResult) func(io.Writer) error {
	return cli.CsvOf(r.Runs, pkgColumns, func(int) cli.More { return cli.More{"messages": r.Messages} })
}
