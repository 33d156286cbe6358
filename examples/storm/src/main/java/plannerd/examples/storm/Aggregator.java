package plannerd.examples.storm;

import java.util.HashMap;
import java.util.Map;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseRichBolt;
import org.apache.storm.tuple.Tuple;

/** Adds up the parts of counts that instances send. */
public final class Aggregator extends BaseRichBolt {
  private transient Job job;
  private transient Pace pace;
  private transient Map<String, Long> totals;

  @Override
  public void prepare(Map<String, Object> conf, TopologyContext context, OutputCollector out) {
    job = Job.current();
    pace = new Pace();
    totals = new HashMap<>();
    job.totals.set(context.getThisTaskIndex(), totals);
  }

  @Override
  public void declareOutputFields(OutputFieldsDeclarer declarer) {
    // What it has is the result.
  }

  @Override
  public void execute(Tuple t) {
    long n = t.getLong(1);
    totals.merge(t.getString(0), n, Long::sum);
    long done = pace.serve(System.nanoTime(), job.options.mergeService.toNanos());
    job.merges.incrementAndGet();
    job.ages.addAndGet(n * job.sinceStart(done) - t.getLong(2));
    job.merged.addAndGet(n);
  }
}
