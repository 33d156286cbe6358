package plannerd.examples.storm;

import java.util.HashMap;
import java.util.Map;
import java.util.SplittableRandom;
import org.apache.storm.spout.SpoutOutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseRichSpout;
import org.apache.storm.tuple.Values;

/**
 * A source, which is a router as well: it draws words and numbers the messages of each. At
 * saturation a window bounds how many messages are on their way, so that the busiest instance sets
 * the pace of all.
 */
public final class Source extends BaseRichSpout {
  private static final int TOGETHER = 32;

  private transient Job job;
  private transient SpoutOutputCollector collector;
  private transient SplittableRandom random;
  private transient Map<String, Long> numbers;
  private transient Forwarder forwarder; // null: another grouping places messages
  private transient long began;
  private transient long made;

  @Override
  public void open(Map<String, Object> conf, TopologyContext context, SpoutOutputCollector out) {
    job = Job.current();
    collector = out;
    int index = context.getThisTaskIndex();
    random = new SplittableRandom(job.options.seed * 31 + index);
    numbers = new HashMap<>();
    job.numbers.set(index, numbers);
    if (job.options.grouping.planned()) {
      try {
        forwarder = new Forwarder(job, Job.routerName(index));
      } catch (Exception e) {
        throw new IllegalStateException("registering the router", e);
      }
      job.forwarders.put(context.getThisTaskId(), forwarder);
    }
    job.sourceIsReady();
  }

  @Override
  public void declareOutputFields(OutputFieldsDeclarer declarer) {
    declarer.declare(Tuples.MESSAGE);
  }

  @Override
  public void nextTuple() {
    if (forwarder != null && !forwarder.poll(this::emit) || !job.runs()) {
      return;
    }
    long now = System.nanoTime();
    long due = TOGETHER;
    if (job.options.rate > 0) {
      began = began == 0 ? now : began;
      due = Math.min(due, (long) ((now - began) * 1e-9 * job.options.rate / job.options.sources) - made);
    }
    for (; due > 0 && job.hasRoom(); due--) {
      String word = job.words.at(random.nextDouble());
      long n = numbers.merge(word, 1L, Long::sum);
      job.made.incrementAndGet();
      made++;
      emit(Tuples.message(word, n, System.nanoTime(), forwarder == null ? 0 : forwarder.epoch()));
    }
  }

  private void emit(Values values) {
    if (!collector.emit(values).isEmpty() && (long) values.get(Tuples.MARKER) == 0) {
      job.sent.incrementAndGet();
    }
  }
}
