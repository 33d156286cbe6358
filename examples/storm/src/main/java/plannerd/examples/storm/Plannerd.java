package plannerd.examples.storm;

import java.io.File;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import plannerd.sdk.client.Client;
import plannerd.sdk.client.Retry;

/** A plannerd that is built from this repository, and runs on a free port of loopback. */
final class Plannerd implements AutoCloseable {
  final String address;
  private final Path dir;
  private final Process process;

  /** Builds and starts it. The repository is the folder two above the example's. */
  Plannerd(Path repository) throws IOException, InterruptedException {
    dir = Files.createTempDirectory("storm-");
    Path program = dir.resolve("plannerd");
    Process build = new ProcessBuilder("go", "build", "-o", program.toString(), "./cmd/plannerd")
        .directory(repository.toFile()).inheritIO().start();
    if (build.waitFor() != 0) {
      throw new IOException("plannerd could not be built in " + repository);
    }
    int port;
    try (ServerSocket s = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      port = s.getLocalPort();
    }
    address = "http://127.0.0.1:" + port;
    File log = dir.resolve("log").toFile();
    process = new ProcessBuilder(List.of(program.toString(), "serve", "--listen=127.0.0.1:" + port,
        "--database-url=sqlite:" + dir.resolve("plannerd.db"))).redirectErrorStream(true).redirectOutput(log).start();
    Runtime.getRuntime().addShutdownHook(new Thread(process::destroy));
    // Until its database is open it answers 503 with a Retry-After, which is waited for.
    Retry patient = new Retry(300, Duration.ofMillis(200), Duration.ofMillis(200), Duration.ofSeconds(5));
    Client client = new Client(address, null, patient);
    client.call(Client.request("GET", "operators"));
  }

  @Override
  public void close() throws IOException, InterruptedException {
    process.destroy();
    if (!process.waitFor(10, TimeUnit.SECONDS)) {
      process.destroyForcibly();
    }
    try (Stream<Path> all = Files.walk(dir)) {
      for (Path p : all.sorted(Comparator.reverseOrder()).toList()) {
        Files.delete(p);
      }
    }
  }
}
