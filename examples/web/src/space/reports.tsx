import { useInfiniteQuery } from '@tanstack/react-query';
import type { SpaceReport } from 'space-service';
import { listReportsInfiniteOptions } from 'space-service/tanstack-react-query';
import { addressOf } from '../navigation.ts';
import { Pages } from '../ui/pages.tsx';
import { formatDate, quote } from '../words.ts';

/** What users have reported in a space that the reader moderates. Shown only if there is something. */
export function Reports({ spaceId }: { spaceId: string }) {
  const reports = useInfiniteQuery(listReportsInfiniteOptions({ query: { space_id: spaceId } }));
  if (!reports.data?.pages[0]?.items.length) return null;
  return (
    <section aria-label="Reports">
      <h2>Reports</h2>
      <Pages query={reports} noun="report" className="lines" skeleton={null} empty={null}>
        {(report) => <ReportItem key={report.report_id} spaceId={spaceId} report={report} />}
      </Pages>
    </section>
  );
}

function ReportItem({ spaceId, report }: { spaceId: string; report: SpaceReport }) {
  const { reason, created_at, message } = report;
  return (
    <li>
      <div>
        <p className="text" dir="auto">
          {reason}
        </p>
        <p className="hint">
          {formatDate(created_at)},{' '}
          {message ? (
            <>
              about{' '}
              <a href={addressOf('space', { id: spaceId, message: message.message_id })}>
                {quote(message.text)}
              </a>{' '}
              by {message.author.username}
            </>
          ) : (
            'about this space'
          )}
        </p>
      </div>
    </li>
  );
}
