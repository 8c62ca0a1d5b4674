# The server as one static program, run by a user without rights.
FROM golang:1.26-alpine AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o /out/server ./server
# A named volume takes over the owner of the folder that it is mounted on.
RUN mkdir -m 0700 /out/keys

FROM alpine:3.22
RUN adduser -S -D -H -u 65532 server
COPY --from=build /out/server /usr/local/bin/server
COPY --from=build --chown=65532 /out/keys /keys
USER 65532
# Where "bootstrap" puts the sealing key and "serve" and "worker" read it.
VOLUME /keys
ENV KEYSET_FILE=/keys/keyset.json
EXPOSE 8080
ENTRYPOINT ["/usr/local/bin/server"]
CMD ["serve"]
