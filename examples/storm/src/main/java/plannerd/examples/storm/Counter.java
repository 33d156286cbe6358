package plannerd.examples.storm;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.storm.Config;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseRichBolt;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.tuple.Values;
import org.apache.storm.utils.TupleUtils;
import plannerd.sdk.handoff.Action;
import plannerd.sdk.handoff.Durable;
import plannerd.sdk.handoff.Instance;
import plannerd.sdk.handoff.Key;
import plannerd.sdk.handoff.Read;
import plannerd.sdk.handoff.Transfer;
import plannerd.sdk.router.View;
import plannerd.sdk.stats.Exact;

/** An instance: it counts words, and hands the counts over as plans say. */
public final class Counter extends BaseRichBolt {
  private transient Job job;
  private transient OutputCollector collector;
  private transient int id;
  private transient List<Integer> tasks; // of instances, by id
  private transient Map<Integer, Integer> sources; // by task
  private transient Map<Integer, Integer> ids; // of instances, by task
  private transient Instance<Message> machine;
  private transient Pace pace;
  private transient View seen;
  private transient Exact costs;
  // A word is active here, or it was sent away and is kept until the plan ends, or it came and is
  // provisional until then.
  private transient Map<Key, Count> active;
  private transient Map<Key, Count> kept;
  private transient Map<Key, Count> provisional;
  // What has to wait until the plan is seen that it belongs to, by the task that it came from.
  private transient Map<Integer, Deque<Tuple>> waiting;

  /** A message as an instance takes it. */
  private record Message(int source, long n, long made, long sent) {}

  @Override
  public void prepare(Map<String, Object> conf, TopologyContext context, OutputCollector out) {
    job = Job.current();
    collector = out;
    id = context.getThisTaskIndex();
    tasks = context.getComponentTasks(context.getThisComponentId()).stream().sorted().toList();
    ids = new HashMap<>();
    tasks.forEach(t -> ids.put(t, ids.size()));
    sources = new HashMap<>();
    context.getComponentTasks(Job.SOURCES).stream().sorted().forEach(t -> sources.put(t, sources.size()));
    machine = new Instance<>(id, job.options.mode(), new Durable<>());
    pace = new Pace();
    costs = job.costs.get(id);
    active = new TreeMap<>();
    kept = new HashMap<>();
    provisional = new HashMap<>();
    waiting = new HashMap<>();
    job.counts.set(id, active);
  }

  @Override
  public void declareOutputFields(OutputFieldsDeclarer declarer) {
    declarer.declareStream(Tuples.TRANSFERS, true, Tuples.TRANSFER);
  }

  @Override
  public Map<String, Object> getComponentConfiguration() {
    // The end of a plan is seen at the next tuple, whatever it is.
    return Map.of(Config.TOPOLOGY_TICK_TUPLE_FREQ_SECS, 1);
  }

  @Override
  public void execute(Tuple t) {
    see();
    if (TupleUtils.isTick(t)) {
      return;
    }
    Deque<Tuple> before = waiting.get(t.getSourceTask());
    if (before != null || !take(t)) {
      waiting.computeIfAbsent(t.getSourceTask(), k -> new ArrayDeque<>()).add(t);
    }
  }

  /** Takes a new table, and what waited for it. */
  private void see() {
    View v = job.follower() == null ? null : job.follower().view();
    if (v == null || v == seen) {
      return;
    }
    seen = v;
    carryOut(machine.see(v.handover()));
    job.versions.set(id, v.table().version());
    if (waiting.isEmpty()) {
      return;
    }
    Map<Integer, Deque<Tuple>> before = waiting;
    waiting = new HashMap<>();
    before.forEach((task, list) -> {
      while (!list.isEmpty() && take(list.peek())) {
        list.poll();
      }
      if (!list.isEmpty()) {
        waiting.put(task, list);
      }
    });
  }

  /** Takes a tuple; false: it has to wait, as do those behind it. */
  private boolean take(Tuple t) {
    List<Action<Message>> actions;
    if (t.getSourceStreamId().equals(Tuples.TRANSFERS)) {
      boolean end = t.getBooleanByField("end");
      Key key = end ? null : Key.of(t.getStringByField("word"));
      actions = machine.receive(new Transfer(t.getLongByField("version"), ids.get(t.getSourceTask()), id, end, key,
          t.getBinaryByField("state")));
    } else {
      int source = sources.get(t.getSourceTask());
      Message m = new Message(source, t.getLong(1), t.getLong(2), t.getLong(3));
      actions = machine.read(new Read<>(Job.routerName(source), t.getLong(4), t.getLong(5), Key.of(t.getString(0)), m));
    }
    if (actions != null) {
      carryOut(actions);
    }
    return actions != null;
  }

  private void carryOut(List<Action<Message>> actions) {
    for (Action<Message> a : actions) {
      switch (a.what()) {
        case PROCESS -> process(a.key(), a.message(), a.early());
        case IMPORT -> takeIn(a.transfer());
        case EXPORT -> export();
        case SEND_END -> send(a.transfer());
        case SEND_ACK -> job.planner().acked(id, a.version());
        case SEND_VOTE -> job.planner().voted(id, a.version());
        default -> a.keys().forEach(key -> settle(key, a.what()));
      }
    }
  }

  /**
   * Counts a message, and demands the numbers of its source and word one by one. It counts on state
   * that is provisional where none is active.
   */
  private void process(Key key, Message m, boolean early) {
    Count c = active.get(key);
    if (c == null && !early) {
      c = provisional.get(key);
    }
    if (c == null) {
      if (kept.containsKey(key)) {
        job.violated("message " + m.n + " of " + key + " comes to instance " + id + ", which has handed the word over");
      }
      c = new Count(job.options.sources, job.options.stateBytes);
      active.put(key, c);
      job.kept.set(id, active.size());
      costs.setState(key, c.size());
    }
    long last = c.last[m.source];
    if (m.n <= last) {
      job.violated("message " + m.n + " of " + key + " comes to instance " + id + " after " + last);
    } else if (m.n > last + 1 && job.options.isWhole()) {
      job.violated("message " + m.n + " of " + key + " comes to instance " + id + " right after " + last);
    }
    c.last[m.source] = m.n;
    c.n++;
    costs.add(key, 1);
    long done = pace.serve(m.sent, job.options.service.toNanos());
    job.latencies.add(done - m.made);
    job.processed.incrementAndGet(id);
  }

  private void takeIn(Transfer t) {
    Count c = Count.decode(t.state(), job.options.sources);
    provisional.merge(t.key(), c, Count::join);
    job.moved.incrementAndGet();
    job.movedBytes.addAndGet(t.state().length);
  }

  private void export() {
    List<Transfer> list = machine.exports(new ArrayList<>(active.keySet()), key -> active.get(key).encode());
    for (Transfer t : list) {
      send(t);
      kept.put(t.key(), active.remove(t.key()));
    }
    carryOut(machine.exported(list));
  }

  private void send(Transfer t) {
    String word = t.end() ? "" : t.key().toString();
    collector.emitDirect(tasks.get(t.to()), Tuples.TRANSFERS, new Values(t.version(), t.end(), word, t.state()));
  }

  /** Does with the state of a word what the end of a plan demands, and with its statistics. */
  private void settle(Key key, Action.Do what) {
    switch (what) {
      case ACTIVATE -> active.put(key, kept.remove(key).join(active.get(key)));
      case KEEP -> active.put(key, provisional.remove(key).join(active.get(key)));
      case FORGET -> kept.remove(key);
      case DROP -> provisional.remove(key);
      default -> throw new IllegalStateException("nothing to settle: " + what);
    }
    Count c = active.get(key);
    if (c != null) {
      costs.setState(key, c.size());
    } else {
      costs.forget(key);
    }
  }
}
