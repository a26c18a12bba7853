# Set BASE_URL to the public address when you run this image. The image can't know it.
FROM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
# The build has no git history, so pass the version: docker build --build-arg VERSION="$(git describe --tags --always --dirty)" …
ARG VERSION=
RUN CGO_ENABLED=0 go build -buildvcs=false -trimpath \
	-ldflags "-s -w -X github.com/pulsecast/pulsecast/app/version.build=$VERSION" -o /out/pulsecast ./cmd/pulsecast \
	&& mkdir -p -m 0700 /out/data && mkdir -p -m 1777 /out/tmp

# The same program beside pg_dump and pg_restore, for backups of Postgres. compose.yaml uses it as "tools".
FROM postgres:17-bookworm AS tools
COPY --from=build /out/pulsecast /pulsecast
COPY --from=build --chown=65532:65532 /out/data /backups
USER 65532:65532
VOLUME /backups
ENTRYPOINT ["/pulsecast"]
CMD ["--help"]

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /out/pulsecast /pulsecast
# SQLite writes its temporary files to /tmp.
COPY --from=build --chown=65532:65532 /out/tmp /tmp
COPY --from=build --chown=65532:65532 /out/data /data
USER 65532:65532
ENV ADDR=0.0.0.0:8080 DATABASE_URL=sqlite:///data/pulsecast.db
VOLUME /data
EXPOSE 8080
ENTRYPOINT ["/pulsecast"]
CMD ["serve"]
