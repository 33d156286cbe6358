package plannerd.examples.storm;

import java.util.HashMap;
import java.util.Map;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseRichBolt;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.tuple.Values;

/**
 * An instance under a grouping that sends a word to several: it counts a part of each, and sends
 * what it has to the aggregators each {@code --merge}, as the paper on partial key grouping has it.
 */
public final class PartialCounter extends BaseRichBolt {
  private transient Job job;
  private transient OutputCollector collector;
  private transient int id;
  private transient Pace pace;
  private transient Map<String, Part> parts;

  /** How often a word came since it was sent on, and the sum of the times at which its messages were made. */
  private static final class Part {
    private long n;
    private long made;
  }

  @Override
  public void prepare(Map<String, Object> conf, TopologyContext context, OutputCollector out) {
    job = Job.current();
    collector = out;
    id = context.getThisTaskIndex();
    pace = new Pace();
    parts = new HashMap<>();
  }

  @Override
  public void declareOutputFields(OutputFieldsDeclarer declarer) {
    declarer.declareStream(Tuples.PARTS, Tuples.PART);
  }

  @Override
  public void execute(Tuple t) {
    if (t.getSourceComponent().equals(Job.CLOCK)) {
      send();
      return;
    }
    long made = t.getLong(Tuples.MADE);
    Part p = parts.computeIfAbsent(t.getString(Tuples.WORD), k -> new Part());
    p.n++;
    p.made += job.sinceStart(made);
    long done = pace.serve(t.getLong(Tuples.SENT), job.options.service.toNanos());
    job.latencies.add(done - made);
    job.processed.incrementAndGet(id);
  }

  private void send() {
    job.kept.set(id, parts.size());
    pace.serve(System.nanoTime(), parts.size() * job.options.mergeService.toNanos());
    parts.forEach((word, p) -> collector.emit(Tuples.PARTS, new Values(word, p.n, p.made)));
    parts.clear();
  }
}
