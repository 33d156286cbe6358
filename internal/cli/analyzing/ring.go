package analyzing

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"

	"plannerd/internal/analyses"
	"plannerd/internal/cli"
	"plannerd/internal/cli/reading"
	"plannerd/planner/ring"
)

type analyzeRingCmd struct {
	analysisInput
	Instances          []analyses.RingNode `type:"ring" own:"" aliases:"nodes" default:"4" placeholder:"N|ID:TOKENS:CAPACITY,…" help:"Task instances on the ring: their number, or a list such as 0,1:32,2:16:1.5 (default 4)."`
	TokensPerInstance  int                 `placeholder:"N" help:"Tokens of an instance that does not name its own (default 16, under doubling 1)."`
	Join               []analyses.RingNode `type:"node" placeholder:"ID:TOKENS:CAPACITY,…" help:"Instances that join (default: none)."`
	Leave              []int32             `placeholder:"ID" help:"Instances that leave (default: none)."`
	Method             ring.Method         `enum:"halving,doubling,fitted,none" default:"halving" help:"How tokens are redistributed: halving, doubling, fitted (--plan only), none (--simulate only)."`
	Tau                float64             `type:"share" default:"0.2" help:"τ: the instance of the longest queue is relieved if that exceeds (1+τ) times the second longest."`
	MinQueue           float64             `default:"0" help:"Least length of a queue that is relieved."`
	Queues             []float64           `placeholder:"LENGTH" help:"Queue lengths, one for each instance (default: the loads per capacity)."`
	ThetaMax           float64             `type:"share" default:"0.08" help:"θ_max of --plan and --reach, a share of the fair load."`
	MaxRounds          int                 `placeholder:"N" help:"How often an instance may be relieved (default 1; for --reach any number of times)."`
	TokenLimit         int                 `placeholder:"N" help:"Tokens on the ring beyond which doubling is refused (default 1048576)."`
	InstanceTokenLimit int                 `aliases:"node-token-limit" placeholder:"N" help:"Greatest number of tokens of one instance that fitted and --reach consider (default 256)."`
	MaxStates          int64               `placeholder:"N" help:"How many token counts fitted and --reach evaluate at most (default 1048576)."`
	Seed               uint64              `default:"0" help:"The same seed gives the same simulation."`

	Plan       bool   `group:"Analyses" help:"Plan a new ring for the loads."`
	Reach      bool   `group:"Analyses" help:"Tell whether the ring alone can balance the loads, and what a routing table on top of it would cost."`
	TableLimit *int64 `placeholder:"N" group:"Analyses" help:"Greatest size of that table (default: no limit)."`

	Simulate     bool                `group:"Simulation" help:"Simulate the stream, without and with balancing."`
	StateSchemes []ring.StateScheme  `placeholder:"NAME" group:"Simulation" help:"What becomes of the state of keys that move: final_merge, state_forwarding, old_owner (default: the first two)."`
	Mappers      int                 `default:"4" group:"Simulation" help:"Number of mappers."`
	Timing       analyses.RingTiming `type:"timing" placeholder:"ACTION=TICKS,…" group:"Simulation" help:"How long actions take, such as process=50,report=200: map, process, forward, network, report, merge, state, and jitter, a fraction (default: map, forward and network 1, process and report 100, merge and state 10, jitter 0.2)."`
	Joins        []analyses.RingJoin `type:"join" placeholder:"TICK:ID:TOKENS,…" group:"Simulation" help:"Instances that join while it runs (default: none)."`
	Messages     int64               `placeholder:"N" group:"Simulation" help:"Messages to make of statistics (default: the sum of the frequencies, or 1,000,000)."`

	Paper          bool  `group:"Paper" help:"Repeat the experiments of DPA Load Balancer. They need no input."`
	PaperMaxRounds []int `default:"1" group:"Paper" help:"Greatest numbers of rounds to try: 1 is Table 1; several are Fig. 3."`
	PaperRuns      int   `default:"101" group:"Paper" help:"By how many seeds each figure is judged."`

	Output string `enum:"table,json,csv" default:"table" group:"Output" help:"table for people, json for programs, csv for a spreadsheet."`
	Top    int    `default:"20" group:"Output" help:"Greatest length of each list of keys, transfers, arcs and events. Arcs, events and the keys that a ring moves are in json only."`
}

// Help shows what is analysed, and examples.
func (*analyzeRingCmd) Help() string {
	return `Always shown are the loads of the instances, what the policy says to them (or to --queues), one
round of redistribution if it fires, and what --join and --leave change. S is
the skew of DPA Load Balancer: 0 is even, 1 is all on one instance.

csv has the instances, or of what was asked for the last of: the instances as --plan changes them,
the methods of --reach, the runs of --simulate, the rows of --paper.

Examples:

    plannerd analyze ring stats.csv --instances 8 --tokens-per-instance 64 --plan --method fitted
    plannerd analyze ring stats.csv --instances 8 --join 8:64 --leave 2
    plannerd analyze ring stats.csv --reach --theta-max 0.05
    plannerd analyze ring keys.txt.gz --stream --simulate --joins 5000:4
    plannerd analyze ring --queues 900,310,305,298
    plannerd analyze ring --paper`
}

// FlagTypes are the types of flags of analyses.
func FlagTypes() []kong.Option {
	return []kong.Option{
		cli.FlagType("ring", parseRing), cli.FlagType("node", parseNode), cli.FlagType("join", parseJoin),
		cli.FlagType("timing", parseTiming),
	}
}

// parseRing reads "8" or "0:16,1:32:1.5".
func parseRing(text string) ([]analyses.RingNode, error) {
	numbered := func(id int32) analyses.RingNode { return analyses.RingNode{ID: id} }
	return reading.CountOrList(text, analyses.MaxNodes, numbered, parseNode)
}

// parseNode reads "id", "id:tokens" or "id:tokens:capacity".
func parseNode(s string) (n analyses.RingNode, err error) {
	bad := fmt.Errorf("%q is no instance: write id, id:tokens or id:tokens:capacity", s)
	parts := strings.Split(s, ":")
	id, err := strconv.ParseInt(parts[0], 10, 32)
	if err != nil || id < 0 || len(parts) > 3 {
		return n, bad
	}
	n.ID = int32(id)
	if len(parts) > 1 {
		if n.Tokens, err = strconv.Atoi(parts[1]); err != nil || n.Tokens < 1 {
			return n, bad
		}
	}
	if len(parts) > 2 {
		if n.Capacity, err = strconv.ParseFloat(parts[2], 64); err != nil ||
			!(n.Capacity > 0 && n.Capacity <= math.MaxFloat64) {
			return n, bad
		}
	}
	return n, nil
}

// parseJoin reads "5000:4" or "5000:4:16".
func parseJoin(text string) (j analyses.RingJoin, err error) {
	at, node, _ := strings.Cut(text, ":")
	tick, err := strconv.ParseInt(at, 10, 64)
	n, bad := parseNode(node)
	if err != nil || bad != nil || n.Capacity != 0 {
		return j, fmt.Errorf("%q is no join: write tick:id or tick:id:tokens", text)
	}
	return analyses.RingJoin{Tick: tick, ID: n.ID, Tokens: n.Tokens}, nil
}

// parseTiming reads "process=50,jitter=0.1".
func parseTiming(text string) (v analyses.RingTiming, err error) {
	actions := map[string]*int64{
		"map": &v.Map, "process": &v.Process, "forward": &v.Forward, "network": &v.Network, "report": &v.Report,
		"merge": &v.Merge, "state": &v.State,
	}
	for part := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		ticks, known := actions[name]
		switch {
		case name == "jitter":
			v.Jitter = new(float64)
			*v.Jitter, err = cli.ParseShare(value)
		case !known:
			return v, fmt.Errorf("there is no action %q: there are map, process, forward, network, report, merge, state and "+
				"jitter", name)
		default:
			*ticks, err = strconv.ParseInt(value, 10, 64)
			if err == nil && *ticks < 1 {
				return v, fmt.Errorf("%s must take 1 tick at least", name)
			}
		}
		if err != nil {
			return v, fmt.Errorf("%s: %q is no number", name, value)
		}
	}
	return v, nil
}

// Run analyses the ring and reports.
func (c *analyzeRingCmd) Run(env *cli.Environment) error {
	if err := c.read(env, c.Plan || c.Reach || c.Simulate); err != nil {
		return err
	}
	request, err := c.request()
	if err != nil {
		return err
	}
	result, err := watched(env, &c.analysisInput, analyses.RunRing, request)
	if err != nil {
		return err
	}
	people := func(w *cli.Page) { writeRing(w, result, c.data != nil || c.Queues != nil) }
	return env.Output(c.Output, func() any { return result }, people, ringCSV(result))
}

func (c *analyzeRingCmd) request() (analyses.RingRequest, error) {
	r := analyses.RingRequest{
		Nodes: analyses.RingNodes(c.Instances), TokensPerInstance: c.TokensPerInstance, Method: c.Method,
		Tau: &c.Tau, MinQueue: c.MinQueue,
		Queues: c.Queues, ThetaMax: &c.ThetaMax, MaxRounds: c.MaxRounds, TokenLimit: c.TokenLimit,
		NodeTokenLimit: c.InstanceTokenLimit,
		MaxStates:      c.MaxStates, Seed: c.Seed, Plan: c.Plan, Reach: c.Reach, TableLimit: c.TableLimit,
		Simulate: c.Simulate,
		Mappers:  c.Mappers, Timing: c.Timing, Joins: c.Joins, StateSchemes: c.StateSchemes,
		Messages: c.Messages, Paper: c.Paper, PaperMaxRounds: c.PaperMaxRounds, PaperRuns: c.PaperRuns, Top: &c.Top,
	}
	for _, id := range c.Leave {
		found := false
		for i := range r.Nodes {
			if r.Nodes[i].ID == id {
				r.Nodes[i].Leaves, found = true, true
			}
		}
		if !found {
			return r, cli.Usagef("--leave: there is no instance %d", id)
		}
	}
	for _, n := range c.Join {
		n.Joins = true
		r.Nodes = append(r.Nodes, n)
		if r.Queues != nil {
			r.Queues = append(r.Queues, 0) // it has none yet
		}
	}
	return r, nil
}
