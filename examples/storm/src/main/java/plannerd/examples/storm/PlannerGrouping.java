package plannerd.examples.storm;

import java.util.Collections;
import java.util.List;
import org.apache.storm.generated.GlobalStreamId;
import org.apache.storm.grouping.CustomStreamGrouping;
import org.apache.storm.task.WorkerTopologyContext;

/**
 * Sends tuples where plannerd's routing table says, and holds those back whose word is moving.
 *
 * <p>Storm asks a grouping for the tasks of a tuple, and does not let it send one: so what was held,
 * and the markers of plans, are emitted by the component itself, see {@link Forwarder#poll}. Such
 * tuples name their instance.
 */
public final class PlannerGrouping implements CustomStreamGrouping {
  private transient List<Integer> tasks;
  private transient Forwarder forwarder;

  @Override
  public void prepare(WorkerTopologyContext context, GlobalStreamId stream, List<Integer> targetTasks) {
    tasks = targetTasks.stream().sorted().toList();
  }

  @Override
  public List<Integer> chooseTasks(int taskId, List<Object> values) {
    int to = (int) values.get(Tuples.TO);
    if (to == Tuples.ANYWHERE) {
      if (forwarder == null) {
        forwarder = Job.current().forwarders.get(taskId);
      }
      to = forwarder.take(values);
    }
    return to == Tuples.NOWHERE ? Collections.emptyList() : Collections.singletonList(tasks.get(to));
  }
}
