package planner_test
import ("testing";"math/rand/v2";"plannerd/planner";"plannerd/planner/plannertest")
func TestDbg(t *testing.T){
	r := rand.New(rand.NewPCG(10, 10))
	bad:=map[string]int{}
	for n:=range 400 {
		c := plannertest.Tiny(r); s:=c.Snapshot()
		for _,st:=range names(){
			o:=c.Options
			whole:=run(t,st,s,o)
			if n==0 { t.Log(st,"whole",whole.WorkUnits,whole.Moves) }
			for b:=int64(1);b<whole.WorkUnits+3;b++{
				o.WorkBudget=b
				p,err:=planner.Run(st,s,o)
				if err!=nil { if n==0 {t.Log(b,err)}; continue}
				if n==0 { t.Log(b,p.EndReason,p.WorkUnits,p.Moves)}
				if p.WorkUnits>b {bad[st+" over budget"]++}
				if p.WorkUnits==0 {bad[st+" zero units"]++;continue}
				o.WorkBudget=p.WorkUnits
				q,err:=planner.Run(st,s,o)
				if err!=nil {bad[st+" err on replay"]++;continue}
				if !sameMoves(p,q){bad[st+" differs"]++}
				if q.EndReason!=p.EndReason{bad[st+" reason differs"]++}
			}
		}
	}
	t.Log(bad)
}
