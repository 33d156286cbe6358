# docker build -t plannerd .
# docker run --rm --network host -v plannerd:/data plannerd
#
# For other machines it wants a token, and TLS or, behind a proxy, the word that it is
# done without. In the environment, HEALTHCHECK finds that too:
# docker run --rm -p 8080:8080 -e PLANNERD_LISTEN=:8080 -e PLANNERD_TOKEN \
#   -e PLANNERD_INSECURE_HTTP=true -v plannerd:/data plannerd
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
COPY sdk/go/go.mod sdk/go/go.sum sdk/go/
COPY sdk/go/arrow/go.mod sdk/go/arrow/go.sum sdk/go/arrow/
RUN go mod download
COPY . .
# The program is static, and knows its commit if .git came along.
RUN CGO_ENABLED=0 go build -trimpath -ldflags=-w -o /out/plannerd ./cmd/plannerd && mkdir /out/data

# Certificates of public authorities and a user without rights; no shell.
FROM gcr.io/distroless/static-debian12:nonroot
COPY --from=build /out/plannerd /usr/local/bin/plannerd
COPY --from=build /src/LICENSE /src/THIRD_PARTY_NOTICES.txt /usr/share/doc/plannerd/
COPY --from=build --chown=nonroot:nonroot /out/data /data
WORKDIR /data
VOLUME /data
ENV PLANNERD_DATABASE_URL=sqlite:/data/plannerd.db
# The start may wait for the database and its migrations; the server answers meanwhile.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 CMD ["plannerd", "healthcheck"]
ENTRYPOINT ["plannerd"]
CMD ["serve"]
