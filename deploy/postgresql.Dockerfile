# PostgreSQL, Patroni and etcd from the packages of Debian 12. Not tested: no container runtime was available.
FROM debian:bookworm-slim
RUN apt-get update \
  && apt-get install -y --no-install-recommends postgresql-15 patroni python3-etcd etcd-server \
  && rm -rf /var/lib/apt/lists/*
COPY deploy/patroni.yml deploy/create-database.sh /etc/patroni/
USER postgres
CMD ["patroni", "/etc/patroni/patroni.yml"]
