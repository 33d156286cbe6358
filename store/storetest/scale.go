package storetest
import ("testing";"time";"plannerd/store";"fmt")
func Scale(t *testing.T, fresh func(t testing.TB) Open){
 f:=newFixture(t,fresh(t),true); f.put(t,"clicks",`{}`)
 t0:=time.Now()
 for i:=range 12000 { 
  st:=store.StatusNoAction; var ch []store.Change
  if i%4==0 { st=store.StatusCommitted; ch=[]store.Change{set(fmt.Sprint("k",i),1)} }
  p:=f.plan(t,"clicks",int64(i),st,ch...); p.Retention=store.Retention{Inputs:20,Plans:10000,Versions:1000}; f.create(t,p)
  if i%2000==1999 { t.Log(i, time.Since(t0)/2000); t0=time.Now() }
 }
 for _,flt:=range []store.PlanFilter{{},{Status:"committed"},{Status:"approved"}} { flt.Operator="clicks"; flt.Limit=50; t0=time.Now(); for range 20 { f.Plans(t.Context(),flt)}; t.Log(flt.Status,time.Since(t0)/20)}
 t0=time.Now(); v:=f.operator(t,"clicks").TableVersion-999; if _,err:=f.Table(t.Context(),"clicks",&v);err!=nil{t.Fatal(err)}; t.Log("oldest",time.Since(t0))
 t0=time.Now(); if err:=f.DeleteOperator(t.Context(),"clicks",f.now());err!=nil{t.Fatal(err)}; t.Log("delete",time.Since(t0))
}
