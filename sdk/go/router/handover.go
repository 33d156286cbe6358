package router

import (
	"plannerd/sdk/go/handoff"
	"plannerd/sdk/go/wire"
)

// Handover is the view as package handoff takes it. A router that hands keys over while
// messages flow sends them by a [handoff.Router], which sees each view, and not by Lookup:
// that may know of a plan before its marker is sent. It shows the machine only views that
// are not Kept.
func (v *View) Handover() handoff.View {
	out := handoff.View{Version: v.Table.Version(), Table: handoff.Routes{Table: v.Table}}
	if p := v.Pending; p != nil {
		out.Pending = &handoff.Pending{
			Version: p.Version, Routers: p.Routers, Awaits: p.Awaits, ExecutorEpoch: p.ExecutorEpoch,
			Aborting: p.Phase == wire.PendingTablePhaseAborting,
		}
	}
	return out
}
