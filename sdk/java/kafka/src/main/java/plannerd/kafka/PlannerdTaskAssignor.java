package plannerd.kafka;

import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.apache.kafka.streams.errors.TaskAssignmentException;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.assignment.ApplicationState;
import org.apache.kafka.streams.processor.assignment.KafkaStreamsAssignment;
import org.apache.kafka.streams.processor.assignment.KafkaStreamsAssignment.AssignedTask;
import org.apache.kafka.streams.processor.assignment.KafkaStreamsState;
import org.apache.kafka.streams.processor.assignment.ProcessId;
import org.apache.kafka.streams.processor.assignment.TaskAssignmentUtils;
import org.apache.kafka.streams.processor.assignment.TaskAssignor;
import org.apache.kafka.streams.processor.assignment.TaskInfo;
import org.apache.kafka.streams.processor.assignment.TaskTopicPartition;
import org.apache.kafka.streams.processor.assignment.assignors.StickyTaskAssignor;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Assigns the active tasks of a Streams application as an operator's table says, and where it says
 * nothing sticky by number of tasks for each thread. Standbys are placed as the built-in assignors place
 * them. A stateful task whose new process has not caught up with its state, while another has, stays
 * there; the new process warms up, and takes the task over in a rebalance that follows.
 *
 * <p>Configured by {@code task.assignor.class}, {@code plannerd.url} and what else README.md names. With
 * {@link PlannerdClients} the application asks for a rebalance when the table is another.
 */
public final class PlannerdTaskAssignor implements TaskAssignor {
  private static final Logger LOG = LoggerFactory.getLogger(PlannerdTaskAssignor.class);
  private static final String THREAD = "-StreamThread-";
  /** What Kafka says of a task that runs in the process: it has all there is. */
  private static final long RUNNING = -2;

  private Watch watch = Watch.of(Map.of());

  @Override
  public void configure(Map<String, ?> configs) {
    watch = Watch.of(configs);
  }

  @Override
  public TaskAssignment assign(ApplicationState application) {
    try {
      return new Round(application).assignment();
    } catch (RuntimeException e) {
      LOG.error("tasks are assigned by the built-in sticky assignor", e);
      return new StickyTaskAssignor().assign(application);
    }
  }

  /** One assignment. */
  private final class Round {
    private final ApplicationState application;
    private final List<KafkaStreamsState> processes;
    private final List<TaskInfo> tasks;
    private final Group group;
    private final int[] assigned;

    Round(ApplicationState application) {
      this.application = application;
      processes = new ArrayList<>(states().values());
      processes.sort(Comparator.comparing(p -> p.consumerClientIds().first()));
      tasks = new ArrayList<>(new TreeMap<>(application.allTasks()).values());
      int[] threads = processes.stream().mapToInt(p -> Math.max(p.numProcessingThreads(), 1)).toArray();
      String[][] keys = tasks.stream().map(PlannerdTaskAssignor::keys).toArray(String[][]::new);
      group = new Group(names(processes), threads, keys, owner(), (process, task) -> true);
      assigned = group.assign(watch.table());
    }

    /** Returns the processes with what they lack of their tasks' state, if that can be told. */
    private Map<ProcessId, KafkaStreamsState> states() {
      try {
        return application.kafkaStreamsStates(true);
      } catch (TaskAssignmentException e) {
        LOG.warn("how far standbys have caught up cannot be told", e);
        return application.kafkaStreamsStates(false);
      }
    }

    private int[] owner() {
      Map<TaskId, Integer> at = new HashMap<>();
      for (int p = 0; p < processes.size(); p++) {
        for (TaskId task : processes.get(p).previousActiveTasks()) {
          at.put(task, p);
        }
      }
      return tasks.stream().mapToInt(t -> at.getOrDefault(t.id(), Balance.NOBODY)).toArray();
    }

    TaskAssignment assignment() {
      Map<ProcessId, KafkaStreamsAssignment> out = new TreeMap<>();
      processes.forEach(p -> out.put(p.processId(), KafkaStreamsAssignment.of(p.processId(), new HashSet<>())));
      List<Integer> late = new ArrayList<>();
      for (int t = 0; t < assigned.length; t++) {
        int at = ready(t);
        if (at != assigned[t]) {
          late.add(t);
        }
        of(out, at).assignTask(new AssignedTask(tasks.get(t).id(), AssignedTask.Type.ACTIVE));
      }
      if (application.assignmentConfigs().numStandbyReplicas() > 0) {
        TaskAssignmentUtils.defaultStandbyTaskAssignment(application, out);
      }
      warmUp(out, late);
      watch.leads(table -> group.settled(assigned, table), false);
      return new TaskAssignment(out.values());
    }

    private KafkaStreamsAssignment of(Map<ProcessId, KafkaStreamsAssignment> out, int process) {
      return out.get(processes.get(process).processId());
    }

    /** Returns who can go on with a task: where it is to be, unless others lack less of its state. */
    private int ready(int task) {
      int best = assigned[task];
      long least = lack(best, task);
      int owner = group.owner()[task];
      if (owner != Balance.NOBODY && lack(owner, task) < least) {
        best = owner;
        least = lack(owner, task);
      }
      for (int p = 0; p < processes.size(); p++) {
        if (lack(p, task) < least) {
          best = p;
          least = lack(p, task);
        }
      }
      return best;
    }

    /** Returns how much a process lacks of a task's state, in messages; 0: little enough to take it over. */
    private long lack(int process, int task) {
      TaskInfo info = tasks.get(task);
      KafkaStreamsState state = processes.get(process);
      boolean restored = info.isStateful() && info.topicPartitions().stream().anyMatch(TaskTopicPartition::isChangelog);
      if (!restored || state.previousActiveTasks().contains(info.id())) {
        return 0;
      }
      long lag;
      try {
        lag = state.statefulTasksToLagSums().getOrDefault(info.id(), Long.MAX_VALUE);
      } catch (UnsupportedOperationException e) { // it could not be told
        lag = state.previousStandbyTasks().contains(info.id()) ? 0 : Long.MAX_VALUE;
      }
      boolean little = lag == RUNNING || lag >= 0 && lag <= application.assignmentConfigs().acceptableRecoveryLag();
      return little ? 0 : lag < 0 ? Long.MAX_VALUE : lag;
    }

    /** Has processes read the state of tasks that are to come, a few at a time, and looks again later. */
    private void warmUp(Map<ProcessId, KafkaStreamsAssignment> out, List<Integer> late) {
      int left = application.assignmentConfigs().maxWarmupReplicas();
      for (int t : late) {
        KafkaStreamsAssignment to = of(out, assigned[t]);
        TaskId task = tasks.get(t).id();
        if (!to.tasks().containsKey(task) && left-- > 0) {
          to.assignTask(new AssignedTask(task, AssignedTask.Type.STANDBY));
        }
      }
      if (!late.isEmpty()) {
        Instant again = Instant.now().plusMillis(application.assignmentConfigs().probingRebalanceIntervalMs());
        out.computeIfPresent(processes.get(0).processId(), (id, a) -> a.withFollowupRebalance(again));
      }
    }
  }

  /** Returns numbers of processes by their names: of two with one name, that is the name of neither. */
  private static Map<String, Integer> names(List<KafkaStreamsState> processes) {
    Map<String, Integer> numbers = new HashMap<>();
    Set<String> ambiguous = new HashSet<>();
    for (int p = 0; p < processes.size(); p++) {
      for (String member : processes.get(p).consumerClientIds()) {
        Integer other = numbers.put(name(member), p);
        if (other != null && other != p) {
          ambiguous.add(name(member));
        }
      }
    }
    numbers.keySet().removeAll(ambiguous);
    return numbers;
  }

  /** Returns the name of the process of a member: the client id of the application. */
  static String name(String member) {
    String client = Names.clientId(member);
    int end = client == null ? -1 : client.lastIndexOf(THREAD);
    return Names.inTable(end > 0 ? client.substring(0, end) : client == null ? member : client);
  }

  /** Returns the keys of a task: its id, else its source partitions. */
  private static String[] keys(TaskInfo task) {
    List<String> keys = new ArrayList<>();
    task.topicPartitions().stream().filter(TaskTopicPartition::isSource)
        .forEach(p -> keys.add(p.topicPartition().topic() + "/" + p.topicPartition().partition()));
    keys.sort(null);
    keys.add(0, task.id().toString());
    return keys.toArray(String[]::new);
  }
}
