import * as echarts from 'echarts';
import { formatSpaces } from './latency.ts';
import { formatNumber, type Results } from './report.ts';

const OURS = '#0f766e';
const OTHER = '#cbd5e1';
const INK = '#1e293b';
const FAINT = '#64748b';
const FONT = 'Helvetica, Arial, sans-serif';
const [WIDTH, HEIGHT] = [1080, 680];

/** Draws the results as SVG: requests per second against the constant route, and latencies against PostgreSQL. */
export function drawChart({ figures, comparisons, spaces, machine }: Results): string {
  const chart = echarts.init(null, null, {
    renderer: 'svg',
    ssr: true,
    width: WIDTH,
    height: HEIGHT,
  });
  const constant = figures.filter(({ name }) => name.endsWith('against the constant route'));
  const postgres = comparisons.find(({ id }) => id === 'postgres');
  const classes = postgres?.rows ?? [];
  const heading = (text: string, subtext: string, left: number) => ({
    text,
    subtext,
    left,
    top: 16,
    textStyle: { fontSize: 16, color: INK, fontFamily: FONT },
    subtextStyle: { fontSize: 12, color: FAINT, fontFamily: FONT, lineHeight: 16 },
  });
  const names = (data: string[], gridIndex: number) => ({
    type: 'category' as const,
    data,
    gridIndex,
    inverse: true,
    axisLine: { show: false },
    axisTick: { show: false },
    axisLabel: { color: INK, fontSize: 12, fontFamily: FONT },
  });
  const axisLabel = { color: FAINT, fontSize: 11, fontFamily: FONT };
  const splitLine = { lineStyle: { color: '#eef2f6' } };
  const milliseconds = (column: 'in process' | 'ts_rank') => {
    const i = postgres?.columns.indexOf(column) ?? -1;
    return classes.map(({ values }) => values[i] as number);
  };
  const maxPercent = Math.ceil(Math.max(100, ...constant.map(({ value }) => value)) / 20) * 20;
  const minMilliseconds = Math.min(...milliseconds('in process'), ...milliseconds('ts_rank'));
  const axisStart = 10 ** Math.floor(Math.log10(minMilliseconds / 2));
  const label = {
    show: true,
    position: 'right' as const,
    color: INK,
    fontSize: 11,
    fontFamily: FONT,
  };

  chart.setOption({
    animation: false,
    backgroundColor: '#ffffff',
    title: [
      heading(
        `Requests per second at ${formatSpaces(spaces)} spaces`,
        'in percent of the same application returning the same bytes from memory',
        20,
      ),
      heading(
        'Milliseconds per query, logarithmic',
        'the twenty best, same rows, same machine, one query at a time',
        560,
      ),
      {
        text: machine,
        left: 20,
        top: HEIGHT - 26,
        textStyle: { fontSize: 11, color: FAINT, fontWeight: 'normal', fontFamily: FONT },
      },
    ],
    legend: {
      right: 24,
      top: HEIGHT - 30,
      itemWidth: 12,
      itemHeight: 12,
      itemGap: 36,
      icon: 'roundRect',
      textStyle: { color: INK, fontSize: 12, fontFamily: FONT },
      data: ['this service', 'PostgreSQL ts_rank'],
    },
    grid: [
      { left: 160, width: 300, top: 84, height: 300 },
      { left: 760, width: 270, top: 84, height: 520 },
    ],
    xAxis: [
      {
        type: 'value',
        gridIndex: 0,
        min: 0,
        max: maxPercent,
        splitLine,
        axisLabel: { ...axisLabel, formatter: '{value} %' },
      },
      {
        type: 'log',
        min: axisStart,
        startValue: axisStart,
        gridIndex: 1,
        splitLine,
        axisLabel: { ...axisLabel, formatter: (value: number) => `${value} ms` },
      },
    ],
    yAxis: [
      names(
        constant.map(({ name }) => name.replace(', against the constant route', '')),
        0,
      ),
      names(
        classes.map(({ name }) => name),
        1,
      ),
    ],
    series: [
      {
        type: 'bar',
        data: constant.map(({ value }) => value),
        barWidth: 26,
        xAxisIndex: 0,
        yAxisIndex: 0,
        itemStyle: { color: OURS, borderRadius: [0, 4, 4, 0] },
        showBackground: true,
        backgroundStyle: { color: '#f1f5f9', borderRadius: [0, 4, 4, 0] },
        label: {
          ...label,
          fontSize: 13,
          formatter: ({ value }: { value: number }) => `${formatNumber(value)} %`,
        },
      },
      {
        name: 'this service',
        type: 'bar',
        data: milliseconds('in process'),
        barGap: '10%',
        xAxisIndex: 1,
        yAxisIndex: 1,
        itemStyle: { color: OURS, borderRadius: [0, 3, 3, 0] },
        label: { ...label, formatter: ({ value }: { value: number }) => formatNumber(value) },
      },
      {
        name: 'PostgreSQL ts_rank',
        type: 'bar',
        data: milliseconds('ts_rank'),
        xAxisIndex: 1,
        yAxisIndex: 1,
        itemStyle: { color: OTHER, borderRadius: [0, 3, 3, 0] },
        label: {
          ...label,
          color: FAINT,
          formatter: ({ value }: { value: number }) => formatNumber(value),
        },
      },
    ],
  });
  const svg = chart.renderToSVGString();
  chart.dispose();
  return svg;
}
