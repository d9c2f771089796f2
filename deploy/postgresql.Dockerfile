# PostgreSQL and etcd from the packages of Debian 12. Its Patroni 3.0.2 can lose acknowledged writes: if PostgreSQL hangs
# for longer than `ttl` and then continues, the former primary takes the lock back from the new one. Fixed in 3.0.3.
# Not tested: no container runtime was available.
FROM debian:bookworm-slim
RUN apt-get update \
  && apt-get install -y --no-install-recommends postgresql-15 etcd-server python3-venv \
  && rm -rf /var/lib/apt/lists/*
RUN python3 -m venv /opt/patroni \
  && /opt/patroni/bin/pip install --no-cache-dir 'patroni[etcd3,psycopg3]==4.1.5' 'psycopg[binary]==3.3.9'
ENV PATH=/opt/patroni/bin:$PATH
COPY deploy/patroni.yml deploy/create-database.sh /etc/patroni/
USER postgres
CMD ["patroni", "/etc/patroni/patroni.yml"]
