package plannerd.kafka;

import java.io.IOException;
import java.io.PrintStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Properties;
import kafka.server.KafkaConfig;
import kafka.server.KafkaRaftServer;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.utils.Time;

/** A broker that is its own controller, in the process of the test, on loopback. */
final class Broker implements AutoCloseable {
  final String address;
  private final KafkaRaftServer server;

  Broker(Path dir, Map<String, String> more) throws IOException {
    address = "127.0.0.1:" + free();
    String controller = "127.0.0.1:" + free();
    Properties p = new Properties();
    p.putAll(Map.of("process.roles", "broker,controller", "node.id", "1", "broker.session.timeout.ms", "120000",
        "listeners", "PLAINTEXT://" + address + ",CONTROLLER://" + controller,
        "controller.listener.names", "CONTROLLER", "controller.quorum.voters", "1@" + controller,
        "log.dirs", dir.resolve("data").toString(), "offsets.topic.num.partitions", "1",
        "offsets.topic.replication.factor", "1", "group.initial.rebalance.delay.ms", "0"));
    p.putAll(Map.of("transaction.state.log.num.partitions", "1", "transaction.state.log.replication.factor", "1",
        "transaction.state.log.min.isr", "1", "group.consumer.heartbeat.interval.ms", "500",
        "group.consumer.min.heartbeat.interval.ms", "500"));
    p.putAll(more);
    Path file = dir.resolve("server.properties");
    try (OutputStream out = Files.newOutputStream(file)) {
      p.store(out, null);
    }
    int code = kafka.tools.StorageTool.execute(new String[] {"format", "--config", file.toString(), "--cluster-id",
        Uuid.randomUuid().toString()}, new PrintStream(OutputStream.nullOutputStream()));
    if (code != 0) {
      throw new IOException("the broker's storage cannot be formatted");
    }
    server = new KafkaRaftServer(new KafkaConfig(p), Time.SYSTEM);
    server.startup();
  }

  private static int free() throws IOException {
    try (ServerSocket s = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return s.getLocalPort();
    }
  }

  @Override
  public void close() {
    server.shutdown();
    server.awaitShutdown();
  }
}
