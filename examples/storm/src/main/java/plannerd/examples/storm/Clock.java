package plannerd.examples.storm;

import java.util.Map;
import org.apache.storm.spout.SpoutOutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseRichSpout;
import org.apache.storm.tuple.Values;

/** Tells instances that it is time to send the parts that they have: Storm's own ticks come once a second at most. */
public final class Clock extends BaseRichSpout {
  private static final long AT_THE_END = 10_000_000; // nanoseconds

  private transient Job job;
  private transient SpoutOutputCollector collector;
  private transient long due;

  @Override
  public void open(Map<String, Object> conf, TopologyContext context, SpoutOutputCollector out) {
    job = Job.current();
    collector = out;
  }

  @Override
  public void declareOutputFields(OutputFieldsDeclarer declarer) {
    declarer.declare(Tuples.TIME);
  }

  @Override
  public void nextTuple() {
    long now = System.nanoTime();
    if (now < due && job.runs()) {
      return;
    }
    due = now + (job.runs() ? job.options.merge.toNanos() : AT_THE_END);
    collector.emit(new Values(now));
  }
}
