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
	Method             ring.Method         `enum:"halving,doubling,fitted" default:"halving" help:"How tokens are redistributed: halving, doubling, fitted (--plan only)."`
	Tau                float64             `type:"share" default:"0.2" help:"τ: the instance of the longest queue is relieved if that exceeds (1+τ) times the second longest."`
	MinQueue           float64             `default:"0" help:"Least length of a queue that is relieved."`
	Queues             []float64           `placeholder:"LENGTH" help:"Queue lengths, one for each instance (default: the loads per capacity)."`
	ThetaMax           float64             `type:"share" default:"0.08" help:"θ_max of --plan, a share of the fair load."`
	MaxRounds          int                 `placeholder:"N" help:"How often an instance may be relieved (default 1)."`
	TokenLimit         int                 `placeholder:"N" help:"Tokens on the ring beyond which doubling is refused (default 1048576)."`
	InstanceTokenLimit int                 `aliases:"node-token-limit" placeholder:"N" help:"Greatest number of tokens of one instance that fitted considers (default 256)."`
	MaxStates          int64               `placeholder:"N" help:"How many token counts fitted evaluates at most (default 1048576)."`

	Plan bool `group:"Analyses" help:"Plan a new ring for the loads."`

	Output string `enum:"table,json,csv" default:"table" group:"Output" help:"table for people, json for programs, csv for a spreadsheet."`
	Top    int    `default:"20" group:"Output" help:"Greatest length of each list of keys, transfers, arcs and events. Arcs, events and the keys that a ring moves are in json only."`
}

// FlagTypes are the types of flags of analyses.
func FlagTypes() []kong.Option {
	return []kong.Option{
		cli.FlagType("ring", parseRing), cli.FlagType("node", parseNode),
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

// Run analyses the ring and reports.
func (c *analyzeRingCmd) Run(env *cli.Environment) error {
	if err := c.read(env, c.Plan); err != nil {
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
		MaxStates:      c.MaxStates, Plan: c.Plan, Top: &c.Top,
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
